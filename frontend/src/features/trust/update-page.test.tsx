import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { UpdatePage } from './update-page';

test.each([404, 503])(
  'an update can be tried again unless its server is gone: %s',
  async (status) => {
    vi.stubGlobal('fetch', async () => new Response('', { status }));
    const router = createRouter({
      routeTree: createRootRoute({ component: () => <UpdatePage server="files" /> }),
      history: createMemoryHistory({ initialEntries: ['/'] }),
    });
    render(
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router} />
      </QueryClientProvider>,
    );
    await screen.findByText(/^Drawbridge responded/);
    expect(screen.queryAllByRole('button', { name: 'Try again' })).toHaveLength(
      status === 404 ? 0 : 1,
    );
  },
);
