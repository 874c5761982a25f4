import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { Tooltip } from 'radix-ui';
import { describe, expect, test } from 'vitest';
import { stateTone } from '@/components/state-badge';
import { capital } from '@/lib/format';
import { texts } from '@/lib/texts';
import readings from '@/testdata/server-states.json';
import type { ServerStatus } from '@/types/api';
import { serversQuery, serverUseQuery, visibleToolsQuery } from './api';
import { ServerFacts } from './server-detail';
import { ServerGrid, useServerNumbers } from './server-grid';
import { ServerRow } from './server-row';

const words: Record<string, string> = {
  stopped: 'off',
  starting: 'busy',
  running: 'ok',
  degraded: 'warn',
  waiting: 'warn',
  backoff: 'warn',
  crashed: 'bad',
  'needs-login': 'warn',
  'needs-approval': 'warn',
  disabled: 'off',
};

function show(server: ServerStatus, version?: string, visible?: number) {
  const root = createRootRoute({
    component: () => (
      <ul>
        <ServerRow
          server={server}
          selected={false}
          filter={undefined}
          version={version}
          visible={visible}
        />
      </ul>
    ),
  });
  const detail = createRoute({ getParentRoute: () => root, path: '/servers/$id' });
  const router = createRouter({
    routeTree: root.addChildren([detail]),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <Tooltip.Provider>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
}

// The file is written by the supervisor's test, which brings a server into each state.
describe('each state is shown with its reason', () => {
  for (const { title, status } of readings as unknown as {
    title: string;
    status: ServerStatus;
  }[]) {
    test(title, async () => {
      show(status);
      expect(await screen.findByText(texts.states[status.state])).toBeVisible();
      expect(stateTone(status.state)).toBe(words[status.state]);
      if (status.reason) expect(screen.getByText(capital(status.reason))).toBeVisible();
    });
  }
  test('no state is missing', () => {
    const seen = new Set(readings.map((r) => r.status.state));
    for (const state of Object.keys(texts.states)) {
      expect(seen).toContain(state);
    }
  });
});

test('the tools that clients see are counted where some are hidden', async () => {
  const one = { ...readings[0]?.status, tools: 13 } as unknown as ServerStatus;
  show(one, undefined, 3);
  expect((await screen.findAllByText(/3 of 13 tools/)).length).toBeGreaterThan(0);
  show(one);
  expect((await screen.findAllByText(/^13 tools/)).length).toBeGreaterThan(0);
});

function SumAndGrid() {
  return (
    <>
      <p>sum {useServerNumbers().tools}</p>
      <ServerGrid />
    </>
  );
}

test('and so they are in the grid and in the sum', async () => {
  const server = (id: string, tools: number) =>
    ({ ...readings[0]?.status, id, label: id, tools }) as unknown as ServerStatus;
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(serversQuery.queryKey, [server('files', 13), server('time', 2)]);
  client.setQueryData(serverUseQuery.queryKey, []);
  client.setQueryData(visibleToolsQuery.queryKey, { files: 3 });
  const root = createRootRoute({ component: SumAndGrid });
  const detail = createRoute({ getParentRoute: () => root, path: '/servers/$id' });
  const router = createRouter({
    routeTree: root.addChildren([detail]),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  expect(await screen.findByText('sum 5')).toBeVisible();
  expect(screen.getByText(/3 of 13 tools/)).toBeVisible();
  expect(screen.getByText(/^2 tools/)).toBeVisible();
});

test('and so they are on the page of a server', () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(visibleToolsQuery.queryKey, { files: 3 });
  const server = { ...readings[0]?.status, id: 'files', tools: 13, prompts: 1, resources: 0 };
  render(
    <QueryClientProvider client={client}>
      <ServerFacts server={server as never} now={0} />
    </QueryClientProvider>,
  );
  expect(screen.getByText('3 of 13 tools, 1 prompt')).toBeVisible();
});

describe('a server says which version it runs', () => {
  const running = (readings as unknown as { status: ServerStatus }[]).map((r) => r.status)[0];
  const digest = `sha256:${'0123456789ab'.padEnd(64, 'f')}`;
  for (const [version, shown] of [
    ['2025.9.25', 'v2025.9.25'],
    ['latest', 'latest'],
    [digest, 'sha256:0123456789ab'],
    ['1.2.3-with-a-name-that-never-ends', 'v1.2.3-with-a-name-that-'],
    ['1.2\u202e3', 'v1.2\ufffd3'],
  ] as const) {
    test(shown, async () => {
      show(running as ServerStatus, version);
      expect(await screen.findByText(`· ${shown}`)).toBeVisible();
    });
  }
  test('and nothing where that is not known', async () => {
    show(running as ServerStatus);
    await screen.findByRole('link');
    expect(screen.queryByText(/^· v\d/)).toBeNull();
    expect(screen.queryByText(/sha256/)).toBeNull();
  });
});
