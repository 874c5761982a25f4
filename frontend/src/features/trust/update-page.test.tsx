import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { ComparedCall, ToolChange } from '@/types/api';
import { contextChange, UpdatePage, verdict } from './update-page';
import { comparisonSummary } from './version-comparison';

function show(answer: () => Response) {
  vi.stubGlobal('fetch', async () => answer());
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <UpdatePage server="files" /> }),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

test('a server whose version cannot be changed has no update, which is no failure', async () => {
  const headers = { 'Content-Type': 'application/problem+json' };
  const problem = { code: 'validation', detail: 'the entry runs no package', hint: '' };
  show(() => new Response(JSON.stringify(problem), { status: 400, headers }));
  await screen.findByText(/^No update to preview. The entry runs no package/);
  expect(screen.queryByText('Cannot show this page')).toBeNull();
});

test.each([404, 503])(
  'an update can be tried again unless its server is gone: %s',
  async (status) => {
    show(() => new Response('', { status }));
    await screen.findByText(/^Drawbridge responded/);
    expect(screen.queryAllByRole('button', { name: 'Try again' })).toHaveLength(
      status === 404 ? 0 : 1,
    );
  },
);

test('the preview says how much context the tools take before and after', () => {
  expect(contextChange({ tokens: 943, tokensThen: 2706 })).toBe('Context: ~943 → ~2,706 tokens. ');
  expect(contextChange({ tokens: 0, tokensThen: 2706 })).toBe('Context: ~2,706 tokens. ');
});

test('only calls of tools are counted as calls', () => {
  const report = (calls: ComparedCall[]) =>
    comparisonSummary({ alike: 0, different: 0, failed: 0, skipped: 0, enough: true, calls });
  const others: ComparedCall[] = [
    { definitions: 'server', result: 'different' },
    { resource: 'memo://1', result: 'different' },
  ];
  expect(report(others)).toBe('No calls to replay. Other requests: 2 different.');
  expect(report([...others, { tool: 'read', result: 'alike' }])).toBe(
    'Replayed calls: 1 the same. Other requests: 2 different.',
  );
});

test.each([
  [[], [], /^Nothing changes/],
  [['added', 'description'], ['alike'], /^Probably safe/],
  [['changed', 'schema'], ['alike'], /arguments of 1 tool change/],
  [['removed'], ['different'], /^May break clients: 1 tool is removed/],
  [['added'], ['failed', 'failed'], /^May break clients: 2 requests failed/],
] as const)('the preview begins with what an update may break: %s %s', (change, results, text) => {
  const [state, part] = change as readonly [string?, string?];
  const changes = state ? [{ state, parts: part ? [part] : [] } as unknown as ToolChange] : [];
  const calls = results.map((result) => ({ tool: 'a', result }));
  const report = { alike: 0, different: 0, failed: 0, skipped: 0, enough: true, calls };
  expect(verdict(changes, report)).toMatch(text);
});
