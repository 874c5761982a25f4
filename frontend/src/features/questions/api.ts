import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList, requestText } from '@/lib/request';
import type { Grant, Question } from '@/types/api';

/** What waits for the user, oldest first. The event stream keeps it current. */
export const questionsQuery = queryOptions({
  queryKey: ['questions'],
  queryFn: ({ signal }) => requestList<Question>('/api/v1/approvals', signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** One question with all of its arguments, of which a list holds the beginning. */
export const wholeQuery = (id: string) =>
  queryOptions({
    queryKey: ['questions', id],
    queryFn: ({ signal }) =>
      request<Question>('GET', `/api/v1/approvals/${encodeURIComponent(id)}`, { signal }),
  });

/** What was allowed for some minutes. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: ({ signal }) => requestList<Grant>('/api/v1/approvals/grants', signal),
  refetchInterval: 10_000,
  retry: false,
});

/** How far an allowed call reaches. */
export type Scope = 'once' | 'minutes' | 'session' | 'always';

export type Action = 'accept' | 'decline' | 'cancel';

/** Answers; content is JSON text and arrives as it was typed. */
export function useAnswer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ action, content, scope }: { action: Action; content?: string; scope?: Scope }) =>
      requestText('POST', `/api/v1/approvals/${encodeURIComponent(id)}`, {
        bodyText: `{"action":${JSON.stringify(action)}${content ? `,"content":${content}` : ''}${scope ? `,"scope":${JSON.stringify(scope)}` : ''}}`,
      }),
    onSuccess: (_, { scope }) => {
      client.setQueryData<Question[]>(['questions'], (old) => old?.filter((q) => q.id !== id));
      if (scope === 'minutes' || scope === 'session')
        client.invalidateQueries({ queryKey: ['grants'] });
    },
  });
}
