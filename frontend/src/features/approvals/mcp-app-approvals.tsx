import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Approval } from '@/types/api';
import { approvalsQuery } from './api';
import { CallCard } from './call-card';
import { CardList } from './card-list';

/** Pending calls of apps, answered beside the app: leaving the page would close it. */
export function AppApprovals() {
  const { data } = useQuery(approvalsQuery);
  const waiting = useMemo(() => data?.filter(isOfApp) ?? [], [data]);
  return (
    <CardList approvals={waiting} className="mt-3">
      {(approval) => <CallCard approval={approval} />}
    </CardList>
  );
}

const isOfApp = (approval: Approval) =>
  approval.kind === 'call' &&
  approval.client.name === 'drawbridge-app' &&
  approval.client.token === '';
