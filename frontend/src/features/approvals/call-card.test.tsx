import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { Tooltip } from 'radix-ui';
import { expect, test, vi } from 'vitest';
import type { Approval } from '@/types/api';
import { CallCard } from './call-card';

test('the card says in words which rule asks', async () => {
  vi.stubGlobal('fetch', async () => Response.json({ items: [] }));
  const approval = {
    id: '1',
    kind: 'call',
    server: 'files',
    tool: 'files__put',
    message: 'cursor wants to call "put" on "files"',
    rule: 'Approval is required by your rule 1: It is outside.',
    argumentRule: '{"tool": "files__put", "where": {"/path": {"notUnder": "/a"}}, "then": "ask"}',
    client: { token: 'cursor', name: '', version: '' },
    expires: '',
  } as unknown as Approval;
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <CallCard approval={approval} /> }),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Tooltip.Provider>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  expect(await screen.findByText(/files__put when path is not in \/a$/)).toBeVisible();
});
