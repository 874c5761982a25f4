import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList, requestText } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { Approval, Grant, Past, RuleSuggestion } from '@/types/api';
import { announcePermanent, readPermanent } from './allow-always';
import { applyAnswer } from './events';

/** One approval with its complete arguments; lists truncate them. */
export const fullApprovalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', id],
    queryFn: ({ signal }) =>
      request<Approval>('GET', `/api/v1/approvals/${encodeURIComponent(id)}`, { signal }),
  });

/** Conditions that this call and similar past calls match. */
export const suggestionQuery = (approval: string) =>
  queryOptions({
    queryKey: ['rule-suggestion', 'approval', approval],
    queryFn: ({ signal }) =>
      request<RuleSuggestion>('POST', '/api/v1/policy/suggest', { body: { approval }, signal }),
    retry: false,
  });

/** Earlier calls of the same client to the tool of a pending call. */
export const pastQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', id, 'past'],
    queryFn: ({ signal }) =>
      request<Past>('GET', `/api/v1/approvals/${encodeURIComponent(id)}/past`, { signal }),
    retry: false,
    staleTime: Infinity,
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

/**
 * Answers an approval; content is JSON text and is sent unchanged. Further calls are accepted only
 * if their arguments match `where`.
 */
export function useAnswerApproval(approval: Approval) {
  const client = useQueryClient();
  const { id, seen } = approval;
  return useMutation({
    mutationFn: async ({
      action,
      content,
      scope,
      where,
    }: {
      action: Action;
      content?: string;
      scope?: Scope;
      where?: Record<string, unknown>;
    }) => {
      const before = scope === 'always' ? await readPermanent(client, approval) : undefined;
      await requestText('POST', `/api/v1/approvals/${encodeURIComponent(id)}`, {
        bodyText: `{"action":${JSON.stringify(action)}${seen ? `,"seen":${JSON.stringify(seen)}` : ''}${content ? `,"content":${content}` : ''}${scope ? `,"scope":${JSON.stringify(scope)}` : ''}${where ? `,"where":${JSON.stringify(where)}` : ''}}`,
      });
      return before;
    },
    onSuccess: (before, { action, scope }) => {
      applyAnswer(client, id, action);
      if (before) announcePermanent(client, approval, before).catch(toastError);
      if (scope === 'minutes' || scope === 'session')
        client.invalidateQueries({ queryKey: ['grants'] });
    },
  });
}
