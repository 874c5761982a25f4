import { type QueryClient, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { Schema } from '@/lib/config-completion-and-validation';
import { lazyChunk } from '@/lib/lazy-chunk';
import { isConflict, RequestError, request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { type ToastAction, toast, toastError } from '@/lib/toast';
import type { ConfigFile } from '@/types/api';

/** The configuration file: the one place where servers are defined. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => request<ConfigFile>('GET', '/api/v1/config', { signal }),
  staleTime: 5000, // a config event invalidates it immediately
});

const loadSchema = lazyChunk(() => import('../../../config/schema.json'));

/** The schema is a part of the page, in a chunk that only editors load. */
export const configSchemaQuery = queryOptions({
  queryKey: ['config', 'schema'],
  queryFn: async () => (await loadSchema()).default as unknown as Schema,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Writes the file unless it changed since it was read. The daemon refuses an invalid text. */
export async function saveConfig(text: string, etag: string): Promise<ConfigFile> {
  return JSON.parse(
    await requestText('PUT', '/api/v1/config', { body: { text }, headers: { 'If-Match': etag } }),
  ) as ConfigFile;
}

/**
 * Changes the current text of the file; its result is a button that restores the previous text.
 * `edit` returns undefined if the file has no place for the change, which is then `refused`.
 */
export function useConfigEdit<Change>({
  edit,
  refused,
  ...handlers
}: {
  edit: (text: string, change: Change) => string | undefined;
  refused: string;
  onSuccess?: (undo: ToastAction, change: Change) => void;
  onError?: (error: unknown) => void;
  onSettled?: () => void;
}) {
  const client = useQueryClient();
  return useMutation({
    ...handlers,
    mutationFn: async (change: Change): Promise<ToastAction> => {
      const old = await client.fetchQuery({ ...configQuery, staleTime: 0 });
      const text = edit(old.text, change);
      if (text === undefined) throw new RequestError(refused, 0, 'validation');
      try {
        const saved = await saveConfig(text, old.etag);
        client.setQueryData(configQuery.queryKey, saved);
        return {
          text: texts.care.undo,
          run: () => restoreConfig(client, old.text, saved.etag),
        };
      } catch (error) {
        throw isConflict(error) ? new RequestError(texts.add.conflict, 412, 'conflict') : error;
      }
    },
  });
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
