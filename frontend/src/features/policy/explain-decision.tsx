import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  CircleCheck,
  CircleMinus,
  CircleSlash,
  Hourglass,
  type LucideIcon,
  ShieldQuestion,
} from 'lucide-react';
import { useState } from 'react';
import { Section, SelectField } from '@/components/fields';
import { ruleInWords } from '@/lib/argument-rules';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters, roundDuration } from '@/lib/format';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { messageOf, request } from '@/lib/request';
import type { Explanation, Verdict } from '@/types/api';

const explainTexts = withoutPrototypes({
  results: {
    pass: 'passes',
    refuse: 'rejects',
    ask: 'asks for approval',
    wait: 'waits',
    off: 'not configured',
  },
} as const);

const t = explainTexts;

/** A call that was made. */
interface Made {
  token: string;
  workspace: string;
  arguments?: string;
}

/** Longer arguments are not sent again: those of a rule's conditions are short. */
const maxArguments = 60_000;

const explainQuery = (server: string, tool: string, client: string, made: Made | undefined) =>
  queryOptions({
    queryKey: ['explain', server, tool, client, made],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ server, tool });
      if (made?.token ?? client) query.set('client', made?.token ?? client);
      if (made?.workspace) query.set('folder', made.workspace);
      if (made?.arguments && made.arguments.length < maxArguments)
        query.set('arguments', made.arguments);
      return request<Explanation>('GET', `/api/v1/explain?${query}`, { signal });
    },
    refetchInterval: 5000,
    retry: false,
  });

const looks: Record<Verdict['result'], { icon: LucideIcon; color: string }> = {
  pass: { icon: CircleCheck, color: 'text-ok' },
  refuse: { icon: CircleSlash, color: 'text-bad' },
  ask: { icon: ShieldQuestion, color: 'text-warn' },
  wait: { icon: Hourglass, color: 'text-warn' },
  off: { icon: CircleMinus, color: 'text-ink3' },
};

/** An argument rule in words, which leads to all of them. */
function RuleLink({ rule }: { rule: string }) {
  const words = ruleInWords(rule);
  if (!words) return null;
  return (
    <Link to="/approvals" className="block text-accent underline-offset-2 hover:underline">
      {escapeControlCharacters(words.slice(0, 1000))}
    </Link>
  );
}

/** Whether a call of this tool, or one that was made, would be allowed now, and why, check by check. */
export function ExplainDecision({
  server,
  tool,
  clients = [],
  made,
}: {
  server: string;
  tool: string;
  /** The tokens of the clients to select from. */
  clients?: string[];
  made?: Made;
}) {
  const [client, setClient] = useState('');
  const [all, setAll] = useState(false);
  const { data, error } = useQuery(explainQuery(server, tool, client, made));
  const every = data?.checks ?? [];
  const verdict = !data?.passes
    ? { text: 'Rejected.', color: 'text-bad' }
    : every.some(({ result }) => result === 'ask')
      ? { text: 'Allowed only if you approve.', color: 'text-warn' }
      : { text: 'Allowed.', color: 'text-ok' };
  const decides = ({ result }: Verdict) => result !== 'off' && result !== 'pass';
  const checks = all ? every : every.filter(decides);
  return (
    <Section
      title={made ? 'Access check of this call, now' : 'Access check'}
      aside={
        clients.length > 0 && (
          <SelectField
            label="Client"
            value={client}
            options={[
              { value: '', text: 'Any client' },
              ...clients.map((name) => ({ value: name, text: escapeControlCharacters(name) })),
            ]}
            onChange={setClient}
          />
        )
      }
    >
      {error && <p className="text-sm text-ink3">{escapeControlCharacters(messageOf(error))}</p>}
      {data && (
        <>
          <p className={classes('mb-2 text-sm font-medium', verdict.color)}>
            {verdict.text}
            <span className="font-normal text-ink3">
              {' '}
              {`Timeout ${roundDuration(data.timeoutMs * 1e6)}${data.attempts > 1 ? `, up to ${data.attempts} attempts` : ''}.`}
            </span>
          </p>
          <ol className="space-y-1.5 text-sm">
            {checks.map((check) => {
              const look = ownValue(looks, check.result) ?? looks.off;
              const Icon = look.icon;
              return (
                <li key={check.name} className="flex gap-2">
                  <Icon className={classes('mt-0.5 size-4 shrink-0', look.color)} aria-hidden />
                  <span className="w-24 shrink-0 text-ink3 first-letter:uppercase">
                    {escapeControlCharacters(check.name)}
                  </span>
                  <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                    <span className="sr-only">{t.results[check.result] ?? check.result}: </span>
                    {escapeControlCharacters(check.detail)}
                    {data.rule && check.key.startsWith('policy.rules[') ? (
                      <RuleLink rule={data.rule} />
                    ) : (
                      check.key && (
                        <code className="block font-mono text-xs text-ink3">
                          {escapeControlCharacters(check.key)}
                        </code>
                      )
                    )}
                  </span>
                </li>
              );
            })}
          </ol>
          {!every.every(decides) && (
            <button
              type="button"
              aria-expanded={all}
              onClick={() => setAll((on) => !on)}
              className="mt-2 text-xs text-accent underline-offset-2 hover:underline"
            >
              {all
                ? 'Show less'
                : every.length === 1
                  ? 'Show details'
                  : `Show all details (${every.length})`}
            </button>
          )}
        </>
      )}
    </Section>
  );
}
