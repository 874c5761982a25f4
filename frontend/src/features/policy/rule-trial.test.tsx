import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { RuleTrial } from '@/types/api';
import { TrialResult } from './rule-trial';

const decision = (id: string, tool: string, rule: string) => ({ id, tool, rule });

test.each([
  ['policy.rules[0]', 'The new rule would have decided 1 of 40 calls', ['files / drop']],
  [undefined, 'Of 40 calls', ['files / drop', 'files / write']],
])('a trial counts what the new rule decides apart from others: %s', async (added, text, tools) => {
  vi.stubGlobal('fetch', async () => Response.json({ items: [] }));
  const trial = {
    calls: 40,
    asked: 0,
    denied: 3,
    redacted: 0,
    cut: 0,
    notRecorded: 0,
    profileUnknown: 0,
    complete: true,
    rules: [
      { rule: 'policy.rules[0]', calls: 1 },
      { rule: 'policy.rules[1]', calls: 2 },
    ],
    decisions: [
      decision('3', 'drop', 'policy.rules[0]'),
      decision('2', 'write', 'policy.rules[1]'),
      decision('1', 'write', 'policy.rules[1]'),
    ].map((one) => ({ ...one, server: 'files' })),
  } as unknown as RuleTrial;
  const router = createRouter({
    routeTree: createRootRoute({
      component: () => <TrialResult trial={trial} {...(added && { added })} />,
    }),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  expect((await screen.findByText(text, { exact: false })).textContent).toContain(
    added ? 'Other rules would have decided 2.' : '3 would have been denied',
  );
  expect(screen.getAllByText(/^files \//).map((one) => one.textContent)).toEqual(tools);
  expect(screen.queryByText(/^Showing the newest/)).toBeNull();
});
