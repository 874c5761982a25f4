import { QueryClient, QueryClientProvider, type QueryKey } from '@tanstack/react-query';
import { act, fireEvent, render, renderHook, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { expect, test, vi } from 'vitest';
import { profilesQuery } from '@/lib/profiles-query';
import type { ClientCost, ClientSettings, Connection, Profile, Profiles } from '@/types/api';
import { clientCostsQuery, costQuery, useClientView, useUnsavedView } from './api';
import { ClientAccess, ClientContext, viewOf } from './client-access';
import { ModeChoice } from './tool-mode-choice';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: ReactNode }) => <span>{children}</span>,
}));

const said: [string, string, { run: () => void }][] = [];
vi.mock('@/lib/toast', () => ({
  toast: (...all: [string, string, { run: () => void }]) => said.push(all),
  toastError: () => {},
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
    tokens: 42,
    own: [],
    toolMode: 'search',
  } as unknown as Connection;
  for (const [connection, text] of [
    [moved, 'Context ~42 tokens (tool listing Search)'],
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

const all = { all: 900, search: 300, deferred: 400, auto: 900, instructions: 0 };
const none = { name: '', toolMode: 'all', tokens: all, everyServer: true, servers: [], entry: {} };
const office = { ...none, name: 'office', entry: { servers: { papers: {} } } };
const own = { all: 60, search: 50, deferred: 55, auto: 60, instructions: 7 };
const cost = (profile: string, tokens: object, excluded: string[] = []) =>
  ({
    token: 'cursor',
    profile,
    tokens,
    auto: 'all',
    reason: 'A few tools.',
    excluded,
    now: 60,
  }) as ClientCost;

/** Shows something with these settings of a client, and what profiles cost it. */
function shown(
  content: ReactNode,
  settings: Partial<ClientSettings>,
  ...seeds: [QueryKey, unknown][]
) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(profilesQuery.queryKey, {
    items: [none, office],
    clients: [{ ...viewOf([], 'cursor'), ...settings }],
    accounts: [],
  } as unknown as Profiles);
  for (const [key, value] of seeds) client.setQueryData(key, value);
  render(<QueryClientProvider client={client}>{content}</QueryClientProvider>);
}

test('a client has its own price of each profile and listing, and its changes can be undone', async () => {
  const connection = {
    name: 'Cursor',
    connected: true,
    byServer: true,
    tokens: 60,
    own: ['news'],
  } as Connection;
  const tools = ['papers', 'stocks', 'other'].map((server) => ({
    server,
    tool: 'find',
    publicName: `${server}__find`,
    tokens: 20,
  }));
  const listed = tools.slice(0, 2);
  shown(
    <ClientAccess token="cursor" tools={tools} connection={connection} />,
    { toolMode: 'auto' },
    [
      clientCostsQuery('cursor').queryKey,
      [{ ...cost('', own), tools: listed }, cost('office', { ...own, auto: 20 }, ['stocks'])],
    ],
  );
  const select = (label: string) => screen.getByLabelText(label) as HTMLSelectElement;
  const options = (label: string) => [...select(label).options].map((one) => one.text);
  expect(options('Profile for cursor')).toEqual([
    'No profile · ~60 tokens',
    'office · ~20 tokens, without 1 server',
  ]);
  expect(options('Tool listing for cursor')).toContain('Search · ~50 tokens');
  expect(options('Tool listing for cursor')).toContain('Automatic · ~60 tokens');
  expect(screen.getByText('Now all tools: A few tools.')).toBeTruthy();
  expect(screen.getByText('7 · 15 %')).toBeTruthy(); // the instructions
  expect(screen.queryByText('other')).toBeNull();
  expect(screen.queryByLabelText('Result limit for cursor')).toBeNull();

  const saved: Partial<ClientSettings>[] = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    if (body) saved.push(JSON.parse(String(body)));
    return new Response(null, { status: 204 });
  });
  fireEvent.change(select('Tool listing for cursor'), { target: { value: 'search' } });
  await waitFor(() => expect(said.at(-1)?.[1]).toBe('Cursor: tool listing, Search.'));
  fireEvent.change(select('Profile for cursor'), { target: { value: 'office' } });
  await waitFor(() => expect(said.at(-1)?.[1]).toBe('Cursor: profile office.'));
  await act(async () => said[0]?.[2].run());
  await waitFor(() => expect(saved).toHaveLength(3));
  expect(saved[2]).toMatchObject({ toolMode: 'auto', profile: 'office' });
});

test('a profile that is edited has the price for the client that uses it', () => {
  const entry = { servers: { papers: {} } };
  const props = { entry, overrides: new Map(), everything: none as unknown as Profile, fault: '' };
  shown(<ModeChoice {...props} name="office" client={undefined} onChange={() => {}} />, {}, [
    costQuery(entry, 'office', undefined).queryKey,
    { tokens: all, clients: [{ ...cost('office', own, ['stocks']), now: 55 }] },
  ]);
  expect(screen.getByText('~50 tokens')).toBeTruthy();
  expect(screen.queryByText('~300 tokens')).toBeNull();
  expect(screen.getByRole('status').textContent).toContain(
    'cursor uses ~55 tokens now. With this profile, ~60, ~5 more. Search would use ~50. It has entries for servers that this profile excludes, and shows errors there: stocks.',
  );
});
