import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Approval, Call } from '@/types/api';
import { requestList } from './request';

/** The pending approvals, oldest first. The event stream keeps them up to date. */
export const approvalsQuery = queryOptions({
  queryKey: ['approvals'],
  queryFn: ({ signal }) => requestList<Approval>('/api/v1/approvals', signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The approval that a running call waits for, or the question that a request of a server is. */
export function useApprovalOf(
  call: Pick<Call, 'id' | 'outcome' | 'method' | 'server'>,
): Approval | undefined {
  const { data } = useQuery({
    ...approvalsQuery,
    enabled: call.outcome === '',
    select: (all) =>
      all.find(
        ({ callId, kind, server }) =>
          callId === call.id ||
          (call.method === 'elicitation/create' &&
            (kind === 'form' || kind === 'url') &&
            server === call.server),
      ),
  });
  return call.outcome === '' ? data : undefined;
}
