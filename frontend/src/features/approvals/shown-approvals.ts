import type { Approval } from '@/types/api';

export interface ShownApproval {
  approval: Approval;
  /** Answered, expired or withdrawn, but still in its place. */
  ended: boolean;
}

/** So many cards that are no longer pending stay. */
const maxEnded = 10;

/**
 * The cards to show after the pending approvals changed. No card changes its place: one that is no
 * longer pending stays, and new ones follow after the others.
 */
export function updateShown(shown: ShownApproval[], pending: Approval[]): ShownApproval[] {
  const added = new Map(pending.map((approval) => [approval.id, approval]));
  const kept = shown.map(({ approval }): ShownApproval => {
    const now = added.get(approval.id);
    added.delete(approval.id);
    return { approval: now ?? approval, ended: now === undefined };
  });
  const ended = kept.filter((one) => one.ended);
  const dropped = new Set(ended.slice(0, Math.max(0, ended.length - maxEnded)));
  return [
    ...kept.filter((one) => !dropped.has(one)),
    ...[...added.values()].map((approval) => ({ approval, ended: false })),
  ];
}

/** The card that follows after one that ended: the next pending one, or else the last one. */
export function nextPending(shown: ShownApproval[], id: string): string | undefined {
  const at = shown.findIndex(({ approval }) => approval.id === id);
  const pending = (one: ShownApproval) => !one.ended && one.approval.id !== id;
  return (shown.slice(at + 1).find(pending) ?? shown.findLast(pending))?.approval.id;
}
