import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, test, vi } from 'vitest';
import { Toaster } from '@/components/toaster';
import { hiddenToolsQuery } from './api';
import { HideTools } from './hide-tools';

test('tools to hide show their tokens, can be searched, and come back with Undo', async () => {
  const sent: unknown[] = [];
  vi.stubGlobal('fetch', async (url: string, { method, body }: RequestInit) => {
    if (method === 'POST') sent.push(JSON.parse(String(body)));
    return method === 'POST'
      ? new Response(null, { status: 204 })
      : Response.json(url.includes('hidden') ? { items: [] } : {});
  });
  const client = new QueryClient();
  client.setQueryData(hiddenToolsQuery.queryKey, []);
  const listed = Array.from({ length: 13 }, (_, n) => ({
    server: n < 12 ? 'files' : 'notes',
    tool: `tool_${n}`,
    tokens: 100 + n,
  }));
  render(
    <QueryClientProvider client={client}>
      <HideTools unused={[]} listed={listed} />
      <Toaster />
    </QueryClientProvider>,
  );
  const user = userEvent.setup();
  await user.click(screen.getByRole('button', { name: 'Hide tools…' }));
  expect(screen.getByText('12 tools · ~1,266 tokens', { exact: false })).toBeVisible();
  await user.type(screen.getByRole('searchbox'), 'tool_1');
  await waitFor(() => expect(screen.queryByText(/^tool_2 /)).toBeNull());
  await user.click(screen.getByRole('checkbox', { name: 'tool_10 · ~110 tokens' }));
  await user.click(screen.getByRole('checkbox', { name: 'tool_12 · ~112 tokens' }));
  await user.type(screen.getByRole('searchbox'), '{Enter}');
  expect(sent).toEqual([]); // Enter in the search does not submit
  await user.click(screen.getByRole('button', { name: 'Hide 2 tools of 2 servers, ~222 tokens' }));
  await user.click(await screen.findByRole('button', { name: 'Undo' }));
  const tools = [
    { server: 'files', tool: 'tool_10' },
    { server: 'notes', tool: 'tool_12' },
  ];
  await waitFor(() =>
    expect(sent).toEqual([
      { tools, hide: true },
      { tools, hide: false },
    ]),
  );
});
