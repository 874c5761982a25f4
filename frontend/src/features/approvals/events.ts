import type { QueryClient } from '@tanstack/react-query';
import type { Approval } from '@/types/api';

/** Applies an event: an approval was requested, answered or withdrawn, or it expired. */
export function applyApproval(client: QueryClient, approval: Approval): void {
  if (approval.state)
    client.setQueryData(endKey(approval.id), { state: approval.state, reason: approval.reason });
  client.setQueryData<Approval[]>(['approvals'], (old) => {
    const others = (old ?? []).filter((known) => known.id !== approval.id);
    return approval.state ? others : [...others, approval];
  });
}

const endKey = (id: string) => ['approval-end', id];

type End = Pick<Approval, 'reason'> & { state: string };

/** How an approval ended, for the minutes in which its card may still be shown. */
export const endOf = (client: QueryClient, id: string) => client.getQueryData<End>(endKey(id));

/** Removes an approval that was answered here. */
export function applyAnswer(client: QueryClient, id: string, action: string): void {
  client.setQueryData<End>(endKey(id), { state: action });
  client.setQueryData<Approval[]>(['approvals'], (old) => old?.filter((one) => one.id !== id));
}
