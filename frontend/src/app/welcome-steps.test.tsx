import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { Tooltip } from 'radix-ui';
import { expect, test } from 'vitest';
import { clientsQuery, connectionsQuery } from '@/features/clients/api';
import type { Client, Connection } from '@/types/api';
import { ClientsStep } from './welcome-steps';

const showConnection = (fields: Partial<Connection>) => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const connection = { key: 'cursor', id: 'cursor', name: 'Cursor', path: '/mcp.json' };
  client.setQueryData(connectionsQuery.queryKey, [
    { ...connection, state: 'connected', detected: true, next: '', ...fields } as Connection,
  ]);
  client.setQueryData(clientsQuery.queryKey, []);
  return render(
    <QueryClientProvider client={client}>
      <Tooltip.Provider>
        <ClientsStep />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
};

test('a client that reads its file by itself is not to be restarted', () => {
  showConnection({ live: false, reloads: true });
  expect(screen.getByText('Set up, not used yet').className).not.toContain('text-warn');
  showConnection({ live: false, reloads: false });
  expect(screen.getByText('Set up, restart Cursor').className).toContain('text-warn');
});

test('a client that has not listed its tools is not said to see none', () => {
  showConnection({ live: true, tools: 0, offered: 12 });
  expect(screen.getByText('Working')).toBeTruthy();
  showConnection({ live: true, tools: 0, offered: 0 });
  expect(screen.getByText('Working, 0 tools visible')).toBeTruthy();
});

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
