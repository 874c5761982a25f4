import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { ServerVersion } from '@/types/api';
import { ServerVersionSection } from './server-version';

test('the version is read again when another process runs', async () => {
  let version = '1.0.0';
  vi.stubGlobal('fetch', async () =>
    Response.json({
      known: true,
      package: 'notes-mcp',
      configured: 'notes-mcp@2.0.0',
      version,
      source: 'process',
    } satisfies Partial<ServerVersion>),
  );
  const client = new QueryClient();
  const section = (since: string) => (
    <QueryClientProvider client={client}>
      <ServerVersionSection server="notes" since={since} runs={false} />
    </QueryClientProvider>
  );
  const { rerender } = render(section('2026-11-30T17:00:00Z'));
  await screen.findByText('v1.0.0');
  version = '2.0.0';
  rerender(section('2026-11-30T18:00:00Z'));
  await screen.findByText('v2.0.0');
  expect(screen.queryByText('v1.0.0')).toBeNull();
});
