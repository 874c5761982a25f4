import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, renderHook, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { expect, test, vi } from 'vitest';
import { profilesQuery } from '@/lib/profiles-query';
import type { ClientSettings, Connection, Profiles } from '@/types/api';
import { useClientView, useUnsavedView } from './api';
import { ClientAccess, ClientContext, viewOf } from './client-access';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
}));

test('quick changes of a client are based on each other, also if a list arrives in between', async () => {
  const saved: Partial<ClientSettings>[] = [];
  const released: (() => void)[] = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    saved.push(JSON.parse(String(body)));
    await new Promise<void>((done) => released.push(done));
    return new Response(null, { status: 204 });
  });
  const client = new QueryClient();
  const old = { items: [], clients: [] } as unknown as Profiles;
  client.setQueryData(profilesQuery.queryKey, old);
  const { result } = renderHook(() => [useClientView(), useUnsavedView('cursor')] as const, {
    wrapper: ({ children }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    ),
  });
  const change = async (part: Partial<ClientSettings>) => {
    const [{ mutate }, unsaved] = result.current;
    const { clients } = client.getQueryData(profilesQuery.queryKey) ?? old;
    await act(async () => mutate({ ...(unsaved ?? viewOf(clients, 'cursor')), ...part }));
    await waitFor(() => expect(result.current[1]).toMatchObject(part));
  };
  await change({ profile: 'office' });
  client.setQueryData(profilesQuery.queryKey, old); // read before the first change was saved
  await change({ toolMode: 'search' });
  await waitFor(() => expect(released).toHaveLength(1));
  await act(async () => released[0]?.());
  await waitFor(() => expect(released).toHaveLength(2));
  client.setQueryData(profilesQuery.queryKey, old);
  await change({ maxResultTokens: 8000 });
  await act(async () => released[1]?.());
  await waitFor(() => expect(saved).toHaveLength(3));
  expect(saved[2]).toMatchObject({ profile: 'office', toolMode: 'search', maxResultTokens: 8000 });
  released[2]?.();
});

test('the context of a client is what its own entries list', () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const tokens = { all: 10849, search: 400, deferred: 900, auto: 400 };
  client.setQueryData(profilesQuery.queryKey, {
    items: [{ name: '', toolMode: 'all', tokens }],
    clients: [],
  } as unknown as Profiles);
  const moved = {
    connected: true,
    byServer: true,
    moved: [{ name: 'papers', scope: '', server: 'papers' }],
    tokens: { all: 42, search: 42, deferred: 42 },
  } as Connection;
  for (const [connection, text] of [
    [moved, 'Context ~42 tokens'],
    [{ ...moved, connected: false }, 'Context ~10,849 tokens'],
  ] as const) {
    const { unmount } = render(
      <QueryClientProvider client={client}>
        <ClientContext token="cursor" connection={connection} />
      </QueryClientProvider>,
    );
    expect(screen.getByText(text)).toBeTruthy();
    unmount();
  }
});

test('a profile has a price for a moved client, and says which of its servers it excludes', () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const tokens = { all: 900, search: 300, deferred: 400, auto: 900, instructions: 0 };
  const all = { name: '', toolMode: 'all', tokens, everyServer: true, servers: [], entry: {} };
  const office = {
    ...all,
    name: 'office',
    everyServer: false,
    servers: ['papers'],
    entry: { servers: { papers: {} } },
  };
  const connection = {
    connected: true,
    byServer: true,
    moved: ['papers', 'stocks'].map((name) => ({ name, scope: '', server: name })),
    tokens: { all: 60, search: 50, deferred: 55, instructions: 7 },
    own: ['news'],
    modeReason: 'The entry for one server lists all its tools.',
  } as Connection;
  const tools = ['papers', 'stocks', 'other'].map((server) => ({
    server,
    tool: 'find',
    publicName: `${server}__find`,
    tokens: 20,
  }));
  client.setQueryData(profilesQuery.queryKey, {
    items: [all, office],
    clients: [{ ...viewOf([], 'cursor'), toolMode: 'auto', chosen: 'search', why: 'All tools.' }],
    accounts: [],
  } as unknown as Profiles);
  render(
    <QueryClientProvider client={client}>
      <ClientAccess token="cursor" tools={tools} connection={connection} />
    </QueryClientProvider>,
  );
  const options = (label: string) =>
    [...(screen.getByLabelText(label) as HTMLSelectElement).options].map((one) => one.text);
  expect(options('Profile for cursor')).toEqual([
    'No profile · ~60 tokens',
    'office · ~20 tokens, without 1 server',
  ]);
  expect(options('Tool listing for cursor')).toContain('Search · ~50 tokens');
  expect(screen.getByText(connection.modeReason)).toBeTruthy();
  expect(screen.getByText('instructions 7')).toBeTruthy();
  expect(screen.queryByLabelText('Result limit for cursor')).toBeNull();
  expect(screen.getByText(/own file, which are not counted here: news\./)).toBeTruthy();
});
