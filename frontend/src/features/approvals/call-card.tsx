import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '@/components/button';
import { ConditionChoice, whereOf } from '@/components/condition-choice';
import { Failure } from '@/components/failure';
import { JsonView, LongText } from '@/components/json-view';
import { classes } from '@/lib/class-names';
import { bytes, escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Approval } from '@/types/api';
import { fullApprovalQuery, type Scope, suggestionQuery, useAnswerApproval } from './api';
import { TimeLeft } from './time-left';

const effectsTexts = withoutPrototypes({
  destructive: 'Destructive',
  'read-only': 'Read-only',
  unknown: 'Effect unknown',
} as const);

const callLeftText = (time: string) => `Will be denied automatically in ${time}`;

const effectClasses = {
  destructive: 'bg-bad-soft text-bad',
  'read-only': 'bg-ok-soft text-ok',
  unknown: 'bg-warn-soft text-warn',
};

/** A call that waits for approval: its client, its tool and its complete arguments. */
export function CallCard({ approval }: { approval: Approval }) {
  const labelOf = useServerName();
  const [whole, setWhole] = useState(false);
  const all = useQuery({ ...fullApprovalQuery(approval.id), enabled: whole });
  const [limited, setLimited] = useState(false);
  const [off, setOff] = useState<number[]>([]);
  const suggested = useQuery({ ...suggestionQuery(approval.id), enabled: limited });
  const answer = useAnswerApproval(approval);
  const args = all.data?.arguments ?? approval.arguments ?? '';
  const cut = approval.argumentsCut && !all.data;
  const effect = approval.effect ?? 'unknown';
  // Only names that the message does not contain.
  const names = [
    labelOf(approval.server),
    approval.original || approval.tool,
    approval.client?.name,
  ].filter((word) => word && !approval.message.includes(word));
  const conditions = suggested.data?.where ?? [];
  const where = limited ? whereOf(conditions, off) : undefined;
  const allow = (scope: Scope) =>
    answer.mutate({ action: 'accept', scope, ...(scope !== 'once' && where && { where }) });
  // Without the conditions that were asked for, a longer approval would be for all calls.
  const busy = answer.isPending || (limited && !suggested.data);
  return (
    <div className="rounded-lg border border-warn bg-panel p-4 shadow-card md:p-5">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h2 className="min-w-0 font-semibold [overflow-wrap:anywhere]">
          {escapeControlCharacters(approval.message.slice(0, 400))}
        </h2>
        <span
          title={texts.tools.serverClaims}
          className={classes('rounded px-1.5 py-0.5 text-xs font-medium', effectClasses[effect])}
        >
          {effectsTexts[effect]}
        </span>
      </div>
      <p className="mt-1 flex flex-wrap gap-x-3 text-xs text-ink3">
        {names.length > 0 && (
          <span className="[overflow-wrap:anywhere]">
            {escapeControlCharacters(names.join(' · ').slice(0, 300))}
          </span>
        )}
        <TimeLeft expires={approval.expires} text={callLeftText} />
      </p>
      {approval.rule && (
        <p className="mt-2 text-sm text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(approval.rule)}
        </p>
      )}
      <div className="mt-3">
        {cut ? (
          <div className="rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
            <LongText text={args} />
          </div>
        ) : args ? (
          <JsonView text={args} label={texts.calls.arguments} />
        ) : (
          <p className="text-sm text-ink3">{texts.calls.noArguments}</p>
        )}
        {cut && (
          <Button className="mt-2" small onClick={() => setWhole(true)} disabled={all.isFetching}>
            {`Show all ${bytes(approval.argumentsSize)}`}
          </Button>
        )}
      </div>
      {limited && suggested.data && (
        <div className="mt-3">
          {conditions.length > 0 ? (
            <ConditionChoice conditions={conditions} off={off} onChange={setOff} />
          ) : (
            <p className="text-sm text-ink2">
              No conditions can be suggested for these arguments. Any approval longer than “Allow
              once” applies to all calls to this tool.
            </p>
          )}
        </div>
      )}
      <Failure error={answer.error ?? all.error ?? suggested.error} className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button look="primary" disabled={answer.isPending} onClick={() => allow('once')}>
          Allow once
        </Button>
        <Button
          look="danger"
          disabled={answer.isPending}
          onClick={() => answer.mutate({ action: 'decline' })}
        >
          Deny
        </Button>
        <Button disabled={busy} onClick={() => allow('minutes')}>
          Allow for 10 minutes
        </Button>
        {approval.session && (
          <Button disabled={busy} onClick={() => allow('session')}>
            Allow for this session
          </Button>
        )}
        <Button disabled={busy} onClick={() => allow('always')}>
          Always allow
        </Button>
        <Button aria-expanded={limited} onClick={() => setLimited((on) => !on)}>
          Limit to similar arguments…
        </Button>
        {approval.tool && (
          <Link
            to="/tools"
            search={{ tool: approval.tool }}
            className="ml-auto self-center text-sm text-accent underline-offset-2 hover:underline"
          >
            About this tool
          </Link>
        )}
      </div>
    </div>
  );
}
