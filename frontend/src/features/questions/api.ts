import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestText } from '@/lib/request';
import type { List, Question } from '@/types/api';

/** What waits for a person, oldest first. The event stream keeps it current. */
export const questionsQuery = queryOptions({
  queryKey: ['questions'],
  queryFn: async ({ signal }) =>
    (await request<List<Question>>('GET', '/api/v1/approvals', { signal })).items ?? [],
  staleTime: Number.POSITIVE_INFINITY,
});

export type Action = 'accept' | 'decline' | 'cancel';

/** Answers; content is JSON text and arrives as it was typed. */
export function useAnswer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ action, content }: { action: Action; content?: string }) =>
      requestText('POST', `/api/v1/approvals/${encodeURIComponent(id)}`, {
        bodyText: `{"action":${JSON.stringify(action)}${content ? `,"content":${content}` : ''}}`,
      }),
    onSuccess: () =>
      client.setQueryData<Question[]>(['questions'], (old) => old?.filter((q) => q.id !== id)),
  });
}
