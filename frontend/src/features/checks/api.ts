import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import type { CheckReport, PutCheckInputBody, SavedCheck } from '@/types/api';

export const checksQuery = queryOptions({
  queryKey: ['checks'],
  queryFn: ({ signal }) => requestList<SavedCheck>('/api/v1/checks', signal),
  // Scheduled runs change them, too.
  refetchInterval: 10_000,
});

const address = (name: string) => `/api/v1/checks/${encodeURIComponent(name)}`;

export function useSaveCheck() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, ...body }: PutCheckInputBody & { name: string }) =>
      request<SavedCheck>('PUT', address(name), { body }),
    onSuccess: (_, { name }) => client.removeQueries({ queryKey: reportKey(name) }),
    onSettled: () => client.invalidateQueries({ queryKey: ['checks'], exact: true }),
  });
}

export function useRemoveCheck() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => request<unknown>('DELETE', address(name)),
    onSuccess: (_, name) => client.removeQueries({ queryKey: reportKey(name) }),
    onSettled: () => client.invalidateQueries({ queryKey: ['checks'], exact: true }),
  });
}

/** The cache key of the last report of a check that this page ran; it survives navigation. */
export const reportKey = (name: string) => ['check-report', name];

/** The mutation key of its run, which identifies a run in progress after navigation. */
export const runKey = (name: string) => ['check-run', name];

export function useRunCheck(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationKey: runKey(name),
    mutationFn: () => request<CheckReport>('POST', `${address(name)}/run`),
    onSuccess: (report) => client.setQueryData(reportKey(name), report),
    onSettled: () => client.invalidateQueries({ queryKey: ['checks'], exact: true }),
  });
}
