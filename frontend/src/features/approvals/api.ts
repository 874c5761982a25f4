import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList, requestText } from '@/lib/request';
import type { Approval, Grant } from '@/types/api';

/** The pending approvals, oldest first. The event stream keeps them up to date. */
export const approvalsQuery = queryOptions({
  queryKey: ['approvals'],
  queryFn: ({ signal }) => requestList<Approval>('/api/v1/approvals', signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** One approval with its complete arguments; lists truncate them. */
export const wholeQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', id],
    queryFn: ({ signal }) =>
      request<Approval>('GET', `/api/v1/approvals/${encodeURIComponent(id)}`, { signal }),
  });

/** Permissions that were granted for a limited time. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: ({ signal }) => requestList<Grant>('/api/v1/approvals/grants', signal),
  refetchInterval: 10_000,
  retry: false,
});

/** The scope of a granted call. */
export type Scope = 'once' | 'minutes' | 'session' | 'always';

export type Action = 'accept' | 'decline' | 'cancel';

/** Answers an approval; content is JSON text and is sent unchanged. */
export function useAnswer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ action, content, scope }: { action: Action; content?: string; scope?: Scope }) =>
      requestText('POST', `/api/v1/approvals/${encodeURIComponent(id)}`, {
        bodyText: `{"action":${JSON.stringify(action)}${content ? `,"content":${content}` : ''}${scope ? `,"scope":${JSON.stringify(scope)}` : ''}}`,
      }),
    onSuccess: (_, { scope }) => {
      client.setQueryData<Approval[]>(['approvals'], (old) => old?.filter((q) => q.id !== id));
      if (scope === 'minutes' || scope === 'session')
        client.invalidateQueries({ queryKey: ['grants'] });
    },
  });
}
