import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { Tool } from '@/types/api';
import { toolsQuery } from './api';
import { ToolsPage } from './tools-page';

const hidden = ['write_file', 'drop_file', 'ping'].map((tool) => ({ server: 'files', tool }));

function show(q: string) {
  const client = new QueryClient();
  const tool = { server: 'files', tool: 'read', name: 'read', description: '', inputSchema: '' };
  client.setQueryData(toolsQuery.queryKey, [tool as Tool]);
  const root = createRootRoute();
  const tools = createRoute({
    getParentRoute: () => root,
    path: '/tools',
    component: () => (
      <ToolsPage
        hidden={hidden}
        show={(some) => <button type="button">{some.map((one) => one.tool).join()}</button>}
        calls={undefined}
      />
    ),
  });
  const history = createMemoryHistory({ initialEntries: [`/tools?q=${q}`] });
  const router = createRouter({ routeTree: root.addChildren([tools]), history });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

test.each([
  ['_file', '2 tools that match are hidden from clients.', 'write_file,drop_file'],
  ['ping', '1 tool that matches is hidden from clients.', 'ping'],
  ['gone', undefined, undefined],
])('a search for %s without match leads to the hidden tools that match', async (q, text, names) => {
  show(q);
  await screen.findByText('No tool matches this search.');
  if (text) expect(screen.getByText(text, { exact: false })).toBeVisible();
  expect(screen.queryByRole('button')?.textContent).toBe(names);
});
