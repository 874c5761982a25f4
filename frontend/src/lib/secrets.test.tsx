import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { useNewSecret } from './secrets';

afterEach(() => vi.unstubAllGlobals());

test('a new secret does not replace one of the same name', async () => {
  const written: string[] = [];
  vi.stubGlobal('fetch', async (address: string, { method }: RequestInit) => {
    if (method === 'PUT') written.push(address);
    const items = [{ name: 'A_KEY' }, { name: 'A_KEY_2' }];
    return method === 'PUT' ? new Response(null, { status: 204 }) : Response.json({ items });
  });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useNewSecret(), { wrapper });
  expect(await result.current.mutateAsync({ name: 'A_KEY', value: 'x' })).toBe('A_KEY_3');
  expect(written.map((address) => address.split('/').at(-1))).toEqual(['A_KEY_3']);
});
