import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { describeWhere } from '@/lib/argument-rules';
import { clockSpan, escapeControlCharacters, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { requestText } from '@/lib/request';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Grant } from '@/types/api';
import { grantsQuery } from './api';

const words = {
  title: 'Temporary approvals',
  forget: 'Revoke',
  forgetAll: 'Revoke all',
};

const nameOf = (grant: Grant, labelOf: (server: string) => string) =>
  escapeControlCharacters(
    `${grant.client || texts.calls.unknownClient} → ${labelOf(grant.server)} / ${grant.tool}`.slice(
      0,
      300,
    ),
  );

/** What limits a permission, besides its end. */
function limitsOf({ where, session }: Grant): string {
  const parts = [
    session && 'this session only',
    where && `only when ${describeWhere(JSON.parse(where))}`,
  ].filter((part) => part);
  return escapeControlCharacters(parts.join(', ').slice(0, 400)) || 'all arguments';
}

/** Permissions that were granted for a limited time, and buttons that revoke one or all of them. */
export function Grants() {
  const labelOf = useServerName();
  const { data } = useQuery(grantsQuery);
  const now = useNow();
  const client = useQueryClient();
  const [asking, setAsking] = useState<Grant | 'all' | undefined>(undefined);
  const forget = useMutation({
    mutationFn: (id: string) => requestText('DELETE', `/api/v1/approvals/grants?id=${id}`),
    onSuccess: () => setAsking(undefined),
    onSettled: () => client.invalidateQueries({ queryKey: ['grants'] }),
  });
  const list = (data ?? []).filter((grant) => (moment(grant.until) ?? 0) > now);
  if (list.length === 0) return null;
  const revoked = asking === 'all' ? list : asking ? [asking] : [];
  return (
    <section aria-label={words.title} className="max-w-2xl">
      <div className="mb-2 flex items-center">
        <h2 className="text-sm font-semibold">{words.title}</h2>
        <Button
          className="ml-auto"
          small
          disabled={forget.isPending}
          onClick={() => setAsking('all')}
        >
          {words.forgetAll}
        </Button>
      </div>
      <ul className="rounded-lg border bg-panel text-sm">
        {list.map((grant) => (
          <li
            key={grant.id}
            className="flex items-center gap-3 border-t px-4 py-2 first:border-t-0"
          >
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
              {nameOf(grant, labelOf)}
              <span className="block text-ink3">{limitsOf(grant)}</span>
            </span>
            <span className="shrink-0 text-ink3">
              {`${clockSpan(Math.max(0, Math.round(((moment(grant.until) ?? 0) - now) / 1000)))} left`}
            </span>
            <Button
              small
              aria-label={`${words.forget}: ${nameOf(grant, labelOf)}`}
              disabled={forget.isPending}
              onClick={() => setAsking(grant)}
            >
              {words.forget}
            </Button>
          </li>
        ))}
      </ul>
      {asking && (
        <Confirm
          title={asking === 'all' ? 'Revoke these approvals?' : 'Revoke this approval?'}
          action={asking === 'all' ? words.forgetAll : words.forget}
          danger={false}
          of={forget}
          onConfirm={() => forget.mutate(asking === 'all' ? '' : asking.id)}
          onClose={() => setAsking(undefined)}
        >
          <p>
            {revoked.length === 1
              ? 'You will be asked again on the next call:'
              : `You will be asked again the next time each of these ${revoked.length} tools is called:`}
          </p>
          <ul className="mt-2 list-disc pl-5">
            {revoked.slice(0, 20).map((grant) => (
              <li key={grant.id}>{nameOf(grant, labelOf)}</li>
            ))}
            {revoked.length > 20 && <li>{texts.more(revoked.length - 20)}</li>}
          </ul>
        </Confirm>
      )}
    </section>
  );
}
