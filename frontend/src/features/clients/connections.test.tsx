import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { Tooltip } from 'radix-ui';
import { expect, test } from 'vitest';
import type { Connection } from '@/types/api';
import { ConnectionRow } from './connections';

test.each([false, true])('what to do next is shown until the client is online: %s', (online) => {
  const connection = {
    key: 'cursor',
    name: 'Cursor',
    path: '/home/ada/.cursor/mcp.json',
    state: 'connected',
    next: 'Restart Cursor.',
    servers: [],
  } as unknown as Connection;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Tooltip.Provider>
        <ConnectionRow connection={connection} online={online} />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  expect(screen.queryAllByText('Restart Cursor.')).toHaveLength(online ? 0 : 1);
});
