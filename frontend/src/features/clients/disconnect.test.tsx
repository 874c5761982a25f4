import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { Connection, UndoPlan } from '@/types/api';
import { Disconnect } from './disconnect';

const plan: UndoPlan = {
  path: '/mcp.json',
  file: 'unchanged',
  restored: ['files', 'memory'],
  removed: [
    { name: 'files', usedBy: [], profiles: [] },
    { name: 'memory', usedBy: ['Zed'], profiles: ['lean'] },
  ],
  kept: [],
  shared: [],
  problem: '',
};

const show = async (reply: UndoPlan) => {
  vi.stubGlobal('fetch', async (url: string) =>
    Response.json(url.endsWith('/profiles') ? { items: [], clients: [] } : reply),
  );
  const connection = { key: 'cursor', name: 'Cursor' } as Connection;
  const { container } = render(
    <QueryClientProvider client={new QueryClient()}>
      <Disconnect connection={connection} onClose={() => {}} />
    </QueryClientProvider>,
  );
  await screen.findByText(/mcp\.json|Cannot/);
  return container.ownerDocument.body.textContent;
};

test('disconnecting says which servers are removed, and who else uses them', async () => {
  await show(plan);
  fireEvent.click(screen.getByLabelText('Keep these servers in Drawbridge'));
  const text = document.body.textContent;
  expect(text).toContain('has not changed since you connected: it gets its original content.');
  expect(text).toContain('Cursor starts “files” and “memory” by itself again.');
  expect(text).toContain('Removed from Drawbridge: “files” and “memory”.');
  expect(text).toContain('Also used by Zed and the profile “lean”: “memory”.');
});

test('disconnecting says that other changes of the file stay', async () => {
  const text = await show({ ...plan, file: 'changed', removed: [], kept: ['files'] });
  expect(text).toContain('has changed since you connected: only the Drawbridge entries are');
  expect(text).toContain('Stays in Drawbridge, because it was changed there: “files”.');
});

test('disconnecting says that a server stays for the other clients that brought it in', async () => {
  const text = await show({ ...plan, shared: [{ name: 'memory', clients: ['Zed'] }] });
  expect(text).toContain('Stays in Drawbridge for Zed: “memory”.');
});

test('a client that cannot be disconnected is not', async () => {
  const text = await show({ ...plan, problem: 'the entry was changed manually' });
  expect(text).toContain('Cannot disconnect: the entry was changed manually.');
  const button = screen.getByRole('button', { name: 'Disconnect' }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
});

test('disconnecting keeps the servers by default if another client uses one', async () => {
  expect(await show(plan)).not.toContain('Removed from Drawbridge');
  const bodies: unknown[] = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    bodies.push(body && JSON.parse(String(body)));
    return Response.json(body ? { result: 'restored' } : plan);
  });
  fireEvent.click(screen.getByRole('button', { name: 'Disconnect' }));
  await waitFor(() => expect(bodies).toContainEqual({ keep: true }));
});
