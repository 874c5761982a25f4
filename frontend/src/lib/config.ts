import { queryOptions } from '@tanstack/react-query';
import { request, requestText } from '@/lib/request';
import type { ConfigFile } from '@/types/api';

/** The configuration file: the one place where servers are defined. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => request<ConfigFile>('GET', '/api/v1/config', { signal }),
  staleTime: 5000, // a config event makes it stale at once
});

/** Writes the file, unless it is no longer the one that was read. The daemon refuses a text with mistakes. */
export async function saveConfig(text: string, etag: string): Promise<ConfigFile> {
  return JSON.parse(
    await requestText('PUT', '/api/v1/config', { body: { text }, headers: { 'If-Match': etag } }),
  ) as ConfigFile;
}
