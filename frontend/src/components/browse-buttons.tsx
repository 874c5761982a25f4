import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { FileSearch, FolderOpen, LoaderCircle } from 'lucide-react';
import { Button } from '@/components/button';
import { request } from '@/lib/request';
import { toastError } from '@/lib/toast';

/** Whether a window is open: only a window can show a file dialog of the system. */
export const windowQuery = queryOptions({
  queryKey: ['desktop'],
  queryFn: ({ signal }) =>
    request<{ window: boolean; startAtLogin: boolean }>('GET', '/api/v1/desktop', { signal }),
  retry: false,
  refetchOnMount: 'always',
});

/**
 * Buttons that let the user choose a file or a folder in a dialog of the system. They are hidden
 * while no window is open, because only a window can open one.
 */
export function BrowseButtons({
  onPick,
  foldersOnly = false,
  small = true,
}: {
  onPick: (path: string) => void;
  foldersOnly?: boolean;
  /** The height of a small button, not of the field beside it. */
  small?: boolean;
}) {
  const { data } = useQuery(windowQuery);
  const pick = useMutation({
    mutationFn: (kind: 'file' | 'folder') =>
      request<{ path: string }>('POST', '/api/v1/window/pick', { body: { kind } }),
    onSuccess: ({ path }) => path && onPick(path),
    onError: toastError,
  });
  if (!data?.window) return null;
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      <Button small={small} disabled={pick.isPending} onClick={() => pick.mutate('folder')}>
        <FolderOpen className="size-3.5" aria-hidden />
        Choose a folder…
      </Button>
      {!foldersOnly && (
        <Button small={small} disabled={pick.isPending} onClick={() => pick.mutate('file')}>
          <FileSearch className="size-3.5" aria-hidden />
          Choose a file…
        </Button>
      )}
      {pick.isPending && (
        <span role="status" className="flex items-center gap-1.5 text-xs text-ink3">
          <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
          Choose in the Drawbridge window…
        </span>
      )}
    </span>
  );
}
