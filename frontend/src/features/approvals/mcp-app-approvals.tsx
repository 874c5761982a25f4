import { useQuery } from '@tanstack/react-query';
import type { Approval } from '@/types/api';
import { approvalsQuery } from './api';
import { CallCard } from './call-card';

/** Pending calls of apps, answered beside the app: leaving the page would close it. */
export function AppApprovals() {
  const { data } = useQuery(approvalsQuery);
  const waiting = data?.filter(isOfApp) ?? [];
  if (waiting.length === 0) return null;
  return (
    <ul className="mt-3 max-w-2xl space-y-4" aria-live="polite">
      {waiting.map((approval) => (
        <CallCard key={approval.id} approval={approval} />
      ))}
    </ul>
  );
}

const isOfApp = (approval: Approval) =>
  approval.kind === 'call' &&
  approval.client.name === 'drawbridge-app' &&
  approval.client.token === '';
