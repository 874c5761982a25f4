import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import type { ConfigBackup, ConfigBackupText, RestoredConfig } from '@/types/api';

export const copiesQuery = queryOptions({
  queryKey: ['config-copies'],
  queryFn: ({ signal }) => requestList<ConfigBackup>('/api/v1/config/backups', signal),
  staleTime: 0,
});

export const copyQuery = (name: string) =>
  queryOptions({
    queryKey: ['config-copies', name],
    queryFn: ({ signal }) =>
      request<ConfigBackupText>('GET', `/api/v1/config/backups/${encodeURIComponent(name)}`, {
        signal,
      }),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });

export function useCreateConfigCopy() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<ConfigBackup>('POST', '/api/v1/config/backups'),
    onSuccess: () => client.invalidateQueries({ queryKey: ['config-copies'] }),
  });
}

/** Restores a backup, unless the file changed since it was shown. */
export function useRestoreConfigCopy() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, etag }: { name: string; etag: string }) =>
      request<RestoredConfig>(
        'POST',
        `/api/v1/config/backups/${encodeURIComponent(name)}/restore`,
        { body: { etag } },
      ),
    onSuccess: () => {
      for (const key of ['config', 'config-copies', 'servers', 'secrets', 'profiles'])
        client.invalidateQueries({ queryKey: [key] });
    },
  });
}
