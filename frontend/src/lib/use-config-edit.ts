import { useMutation, useQueryClient } from '@tanstack/react-query';
import { setEdit } from '@/lib/config-edits';
import { configQuery, patchConfig, restoreConfig, unusable } from '@/lib/config-file';
import { readJsonc } from '@/lib/jsonc';
import { isConflict, RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { ToastAction } from '@/lib/toast';
import type { Edit } from '@/types/api';

/**
 * Edits the current file; its result is a button that restores the previous text. `edit` returns
 * undefined if the file has no place for the change, which is then `refused`
 * unless the file itself is unusable.
 */
export function useConfigEdit<Change>({
  edit,
  refused,
  ...handlers
}: {
  edit: (text: string, change: Change) => Edit[] | undefined;
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
      const readable = old.text.trim() === '' || !readJsonc(old.text).fault;
      const edits = readable ? edit(old.text, change) : undefined;
      if (!edits) throw new RequestError(unusable(old) ?? refused, 0, 'validation');
      try {
        const saved = await patchConfig(edits, old.etag);
        client.setQueryData(configQuery.queryKey, saved);
        return {
          text: texts.care.undo,
          run: () => restoreConfig(client, old.text, saved.etag),
        };
      } catch (error) {
        throw isConflict(error)
          ? new RequestError(
              'The file has changed in the meantime. Nothing was saved; try again.',
              412,
              'conflict',
            )
          : error;
      }
    },
  });
}

/** Sets one value of the file, or removes it if it is undefined. */
export const useConfigValue = (
  handlers: Omit<Parameters<typeof useConfigEdit<ConfigValue>>[0], 'edit'>,
) => useConfigEdit<ConfigValue>({ edit: (_, { path, to }) => [setEdit(path, to)], ...handlers });

interface ConfigValue {
  path: string[];
  to: unknown;
}
