import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { Tooltip } from 'radix-ui';
import { expect, test } from 'vitest';
import { clientsQuery, connectionsQuery } from '@/features/clients/api';
import type { Client, Connection } from '@/types/api';
import { ClientsStep } from './welcome-steps';

test.each([0, 1])('a client with %i sessions is online in the first steps, too', (sessions) => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const connection = { key: 'cursor', id: 'cursor', name: 'Cursor', path: '/mcp.json' };
  client.setQueryData(connectionsQuery.queryKey, [
    { ...connection, state: 'connected', detected: true, next: 'Restart Cursor.' } as Connection,
  ]);
  client.setQueryData(clientsQuery.queryKey, [
    { token: 'cursor', name: 'cursor', version: '1', sessions, calls: 0, hasToken: true } as Client,
  ]);
  render(
    <QueryClientProvider client={client}>
      <Tooltip.Provider>
        <ClientsStep />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  expect(screen.queryAllByText('Restart Cursor.')).toHaveLength(sessions === 0 ? 1 : 0);
});
