import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, CircleDashed } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { MergeDiff } from '@/components/lazy-code-editor';
import { More } from '@/components/more';
import { textOfSide } from '@/lib/changes-as-text';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import type { ComparedCall, ComparisonReport } from '@/types/api';

const comparisonTexts = withoutPrototypes({
  definitions: {
    server: 'Instructions and capabilities',
    prompts: 'List of prompts',
    resources: 'List of resources',
    resourceTemplates: 'List of resource templates',
  },
  counts: {
    alike: (n: number) => `${n} the same`,
    different: (n: number) => `${n} different`,
    failed: (n: number) => `${n} failed`,
    skipped: (n: number) => `${n} skipped`,
  },
  results: {
    alike: 'Same',
    different: 'Different',
    failed: 'Failed',
    skipped: 'Skipped',
  },
} as const);

const words = {
  also: 'Include this tool',
};

const t = comparisonTexts;

const looks = {
  alike: [CircleCheck, 'text-ok'],
  different: [CircleAlert, 'text-warn'],
  failed: [CircleAlert, 'text-bad'],
  skipped: [CircleDashed, 'text-ink3'],
} as const;

const order = ['failed', 'different', 'skipped', 'alike'] as const;
const nameOf = (call: ComparedCall) => call.tool ?? call.prompt ?? call.resource ?? '';

/** The calls of tools, and the other requests: those for definitions, prompts and resources. */
export function byKind({ calls }: ComparisonReport) {
  return { calls: calls.filter((one) => one.tool), others: calls.filter((one) => !one.tool) };
}

const countsOf = (list: ComparedCall[]) =>
  order
    .map((result) => [result, list.filter((one) => one.result === result).length] as const)
    .filter(([, n]) => n > 0)
    .map(([result, n]) => t.counts[result](n))
    .join(', ');

/** How many results are the same, different, failed or skipped. */
export function comparisonSummary(report: ComparisonReport): string {
  const { calls, others } = byKind(report);
  const first = calls.length > 0 ? `Replayed calls: ${countsOf(calls)}.` : 'No calls to replay.';
  return others.length > 0 ? `${first} Other requests: ${countsOf(others)}.` : first;
}

/** The results of the same requests with the current and another version of a server. */
export function VersionComparison({
  label,
  list,
  enough = true,
  pending,
  onAlso,
}: {
  /** Names the requests, as in "Replayed calls". */
  label: string;
  list: ComparedCall[];
  enough?: boolean;
  pending: boolean;
  /** Repeats the comparison and also calls this tool. */
  onAlso: (tool: string) => void;
}) {
  const calls = list.map((call, at) => ({ call, at }));
  return (
    <>
      {list.length > 0 && !enough && (
        <p className="mt-1 text-sm text-warn">
          There are too few results to tell whether the versions behave the same. Call this server’s
          tools or save checks, then compare again.
        </p>
      )}
      {order.map((result) => {
        const found = calls.filter(({ call }) => call.result === result);
        if (found.length === 0) return null;
        const reasons = new Set(found.map(({ call }) => call.reason ?? ''));
        const [reason] = reasons.size === 1 ? reasons : [];
        return (
          <details
            key={result}
            open={result === 'failed' || result === 'different'}
            className="mt-2 rounded-lg border bg-panel shadow-card"
          >
            <summary className="cursor-pointer px-3 py-2 text-sm font-medium">
              {t.counts[result](found.length)}
              {result === 'skipped' && reason && (
                <span className="font-normal text-ink2">
                  {`: ${escapeControlCharacters(reason.slice(0, 200))}`}
                </span>
              )}
            </summary>
            <ol aria-label={`${label}: ${t.results[result]}`}>
              {found.map(({ call, at }) => (
                <Result key={at} number={at + 1} call={call} pending={pending} onAlso={onAlso} />
              ))}
            </ol>
          </details>
        );
      })}
    </>
  );
}

function Result({
  number,
  call,
  pending,
  onAlso,
}: {
  /** Distinguishes calls of the same tool. */
  number: number;
  call: ComparedCall;
  pending: boolean;
  onAlso: (tool: string) => void;
}) {
  const [Icon, color] = looks[call.result];
  const [open, setOpen] = useState(false);
  const changes = call.changes ?? [];
  const unstable = call.unstable ?? [];
  const what = escapeControlCharacters(
    call.definitions ? t.definitions[call.definitions] : nameOf(call).slice(0, 200),
  );
  return (
    <li className="border-t px-3 py-2 text-sm">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className={color}>
          <Icon className="mr-1.5 inline size-4 align-text-bottom" aria-hidden />
          {t.results[call.result]}
        </span>
        <span className="min-w-32 flex-1 [overflow-wrap:anywhere]">
          <span className="font-medium">{what}</span>
          {call.prompt && <span className="ml-2 text-xs text-ink3">Prompt</span>}
          {call.resource && <span className="ml-2 text-xs text-ink3">Resource</span>}
        </span>
        {call.check && (
          <span className="text-xs text-ink3">{`Check ${escapeControlCharacters(call.check)}`}</span>
        )}
        {call.callId && /^\d+$/.test(call.callId) && (
          <Link
            to="/calls/$id"
            params={{ id: call.callId }}
            className="text-xs text-accent underline-offset-2 hover:underline"
          >
            Open call
          </Link>
        )}
      </p>
      {call.arguments && call.arguments !== '{}' && (
        <p className="text-ink3 [overflow-wrap:anywhere]">
          {escapeControlCharacters(call.arguments.slice(0, 200))}
        </p>
      )}
      {call.reason && (
        <p className="text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(call.reason.slice(0, 1000))}
        </p>
      )}
      {call.tool &&
        call.result === 'skipped' &&
        call.reason?.startsWith('may have side effects') && (
          <Button
            small
            className="mt-1"
            disabled={pending}
            aria-label={`${words.also}: ${what}`}
            onClick={() => call.tool && onAlso(call.tool)}
          >
            {words.also}
          </Button>
        )}
      {changes.length > 0 && (
        <details className="mt-1" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="w-fit cursor-pointer text-ink2">Show differences</summary>
          {open && (
            <div className="mt-1">
              <MergeDiff
                before={textOfSide(changes, 'before', 'entire result')}
                after={textOfSide(changes, 'after', 'entire result')}
                label={`Differences in ${what}, ${number}`}
              />
            </div>
          )}
        </details>
      )}
      <More of={call.more ?? 0} shown={0} />
      {unstable.length > 0 && (
        <p className="mt-1 text-xs text-ink3 [overflow-wrap:anywhere]">
          {`Not compared, because the values differ between runs of the current version: ${unstable.map((path) => escapeControlCharacters(path || 'entire result')).join(', ')}`}
        </p>
      )}
    </li>
  );
}
