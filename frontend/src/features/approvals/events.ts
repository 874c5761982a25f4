import type { QueryClient } from '@tanstack/react-query';
import type { Approval } from '@/types/api';

/** Applies an event: an approval was requested, answered or withdrawn, or it expired. */
export function applyApproval(client: QueryClient, approval: Approval): void {
  client.setQueryData<Approval[]>(['approvals'], (old) => {
    const others = (old ?? []).filter((known) => known.id !== approval.id);
    return approval.state ? others : [...others, approval];
  });
}
