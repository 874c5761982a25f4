import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { ConfigFile } from '@/types/api';

/** The configuration file: the one place where servers are defined. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => request<ConfigFile>('GET', '/api/v1/config', { signal }),
  staleTime: 5000, // a config event invalidates it immediately
});

/** Writes the file unless it changed since it was read. The daemon refuses an invalid text. */
export async function saveConfig(text: string, etag: string): Promise<ConfigFile> {
  return JSON.parse(
    await requestText('PUT', '/api/v1/config', { body: { text }, headers: { 'If-Match': etag } }),
  ) as ConfigFile;
}

/** Restores the previous text of the file unless it changed since. */
export async function restoreConfig(client: QueryClient, text: string, etag: string) {
  try {
    client.setQueryData(configQuery.queryKey, await saveConfig(text, etag));
    toast('ok', texts.settings.saved);
  } catch (error) {
    toastError(error);
  }
}
