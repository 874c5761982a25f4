import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, renderHook, screen, waitFor } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { profilesQuery } from '@/lib/profiles-query';
import type { ClientSettings, Connection, Profiles } from '@/types/api';
import { useClientView, useUnsavedView } from './api';
import { ClientContext, viewOf } from './client-access';

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
