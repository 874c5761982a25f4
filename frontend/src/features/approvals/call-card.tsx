import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { ConditionChoice, whereOf } from '@/components/condition-choice';
import { Failure } from '@/components/failure';
import { Labelled } from '@/components/fields';
import { JsonView, LongText } from '@/components/json-view';
import { Menu } from '@/components/menu';
import { ruleInWords } from '@/lib/argument-rules';
import { classes } from '@/lib/class-names';
import { bytes, escapeControlCharacters } from '@/lib/format';
import { jsonMembers, jsonString } from '@/lib/json-text';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Approval } from '@/types/api';
import { fullApprovalQuery, type Scope, suggestionQuery, useAnswerApproval } from './api';
import { Effect } from './effect';
import { showHidden } from './effect-text';
import { TimeLeft } from './time-left';

const effectsTexts = withoutPrototypes({
  destructive: 'Destructive',
  'read-only': 'Read-only',
  unknown: 'Effect not declared',
} as const);

const callLeftText = (time: string) => `Will be denied automatically in ${time}`;

const effectClasses = {
  destructive: 'bg-bad-soft text-bad',
  'read-only': 'bg-ok-soft text-ok',
  unknown: 'bg-warn-soft text-warn',
};

/** A call that waits for approval: its client, its tool and its complete arguments. */
export function CallCard({
  approval,
  about = '',
}: {
  approval: Approval;
  /** The description of the tool. */
  about?: string | undefined;
}) {
  const labelOf = useServerName();
  const [whole, setWhole] = useState(false);
  const all = useQuery({ ...fullApprovalQuery(approval.id), enabled: whole });
  const [limited, setLimited] = useState(false);
  const [off, setOff] = useState<number[]>([]);
  const suggested = useQuery({ ...suggestionQuery(approval.id), enabled: limited });
  const answer = useAnswerApproval(approval);
  const args = showHidden(all.data?.arguments ?? approval.arguments ?? '');
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
  const longer: [Scope, string][] = [
    ['minutes', 'Allow for 10 minutes'],
    ...(approval.session ? [['session', 'Allow for this session'] satisfies [Scope, string]] : []),
    ['always', 'Always allow'],
  ];
  const allow = (scope: Scope) =>
    answer.mutate({ action: 'accept', scope, ...(scope !== 'once' && where && { where }) });
  // Without the conditions that were asked for, a longer approval would be for all calls.
  const busy = answer.isPending || (limited && !suggested.data);
  return (
    <div className="rounded-lg border border-warn bg-panel p-4 shadow-card md:p-5">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h2 className="min-w-0 font-semibold [overflow-wrap:anywhere]">
          {escapeControlCharacters(showHidden(approval.message.slice(0, 400)))}
        </h2>
        <span
          title={texts.tools.declared}
          className={classes('rounded px-1.5 py-0.5 text-xs font-medium', effectClasses[effect])}
        >
          {effectsTexts[effect]}
        </span>
      </div>
      <p className="mt-1 flex flex-wrap gap-x-3 text-xs text-ink3">
        {names.length > 0 && (
          <span className="[overflow-wrap:anywhere]">
            {escapeControlCharacters(showHidden(names.join(' · ').slice(0, 300)))}
          </span>
        )}
        <TimeLeft expires={approval.expires} text={callLeftText} />
      </p>
      {about && (
        <p className="mt-1 line-clamp-2 text-sm text-ink3 [overflow-wrap:anywhere]">
          {escapeControlCharacters(showHidden(about.slice(0, 400)))}
        </p>
      )}
      {approval.rule && (
        <p className="mt-2 text-sm text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(approval.rule)}
          {approval.argumentRule && (
            <span className="block text-ink3">
              {escapeControlCharacters(
                showHidden((ruleInWords(approval.argumentRule) ?? '').slice(0, 1000)),
              )}
            </span>
          )}
        </p>
      )}
      <div className="mt-3">
        {cut ? (
          <div className="rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
            <LongText text={args} />
          </div>
        ) : args ? (
          <Arguments text={args} call={approval.callId ?? ''} />
        ) : (
          <p className="text-sm text-ink3">{texts.calls.noArguments}</p>
        )}
        {cut && (
          <Button
            className="mt-2"
            small
            aria-keyshortcuts="S"
            data-key="s"
            onClick={() => setWhole(true)}
            disabled={all.isFetching}
          >
            {`Show all ${bytes(approval.argumentsSize)}`}
            <Key name="S" />
          </Button>
        )}
      </div>
      <Effect approval={approval} />
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
        <Button
          look="primary"
          disabled={answer.isPending}
          aria-keyshortcuts="A"
          data-key="a"
          onClick={() => allow('once')}
        >
          Allow once
          <Key name="A" />
        </Button>
        <Button
          look="danger"
          disabled={answer.isPending}
          aria-keyshortcuts="D"
          data-key="d"
          onClick={() => answer.mutate({ action: 'decline' })}
        >
          Deny
          <Key name="D" />
        </Button>
        <Menu
          align="start"
          items={[
            ...longer.map(([scope, text]) => ({
              text,
              disabled: busy,
              onSelect: () => allow(scope),
            })),
            {
              text: 'Limit to similar arguments',
              checked: limited,
              onSelect: () => setLimited((on) => !on),
            },
          ]}
        >
          <IconButton label="More ways to allow">
            <ChevronDown className="size-4" aria-hidden />
          </IconButton>
        </Menu>
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

/** A key that works while the card has the focus. */
const Key = ({ name }: { name: string }) => (
  <kbd
    aria-hidden
    className="font-sans text-2xs opacity-0 group-focus-within/card:opacity-70 max-md:hidden"
  >
    {name}
  </kbd>
);

/** A longer value is not shown within JSON, where its end could not be reached. */
const longValue = 4000;

/** The arguments: texts of several lines as such, and the others as JSON. */
function Arguments({ text, call }: { text: string; call: string }) {
  const members = [...(jsonMembers(text) ?? [])];
  const long = members.flatMap(([name, raw]) => {
    const value = jsonString(raw);
    return value?.includes('\n') || (value && value.length > longValue)
      ? [[name, showHidden(value)] as const]
      : [];
  });
  const others = members.filter(([name]) => !long.some(([other]) => other === name));
  const rest = others.map(([name, raw]) => `${JSON.stringify(name)}:${raw}`).join();
  return (
    <div className="space-y-2">
      {(long.length === 0 || others.length > 0) && (
        <JsonView
          plain
          text={long.length > 0 ? `{${rest}}` : text}
          label={`Arguments of call ${call}`}
        />
      )}
      {long.map(([name, value]) => (
        <Labelled key={name} label={escapeControlCharacters(name.slice(0, 200))}>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            <LongText text={value} />
          </pre>
        </Labelled>
      ))}
    </div>
  );
}
