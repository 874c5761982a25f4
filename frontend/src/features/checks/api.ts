import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import type { CheckReport, PutCheckInputBody, SavedCheck } from '@/types/api';

export const checksQuery = queryOptions({
  queryKey: ['checks'],
  queryFn: ({ signal }) => requestList<SavedCheck>('/api/v1/checks', signal),
  // They also run by themselves.
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

/** Where the report of a check's newest run by this page is, also after another page was shown. */
export const reportKey = (name: string) => ['check-report', name];

/** The key of its run, by which it is known to go on after another page was shown. */
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
