import { useState } from 'react';
import { ShowMore } from '@/components/more';
import { ScrollArea } from '@/components/scroll-area';
import { SegmentedControl } from '@/components/segmented-control';
import { classes } from '@/lib/class-names';
import { age, bytes, count, cut, duration, escapeControlCharacters, share } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { UsageStats } from '@/types/api';
import type { UsageFilters } from './api';

const kindsTexts = withoutPrototypes({
  servers: 'Servers',
  tools: 'Tools',
  clients: 'Clients',
} as const);

const columnsTexts = withoutPrototypes({
  calls: 'Calls',
  errors: 'Errors',
  rejected: 'Rejected',
  p50Ns: 'Median',
  p95Ns: 'p95',
  p99Ns: 'p99',
  resultTokens: 'Result tokens',
  lastUsed: 'Last used',
} as const);

const columnHintsTexts = withoutPrototypes({
  calls: undefined,
  errors: undefined,
  rejected: 'By the policy or by you: not errors of a tool.',
  p50Ns: undefined,
  p95Ns: undefined,
  p99Ns: undefined,
  resultTokens: 'Estimated as the size of the results in bytes, divided by four.',
  lastUsed: undefined,
} as const);

const words = {
  breakdown: 'Breakdown',
};

type Kind = 'servers' | 'tools' | 'clients';
const columns = [
  'calls',
  'errors',
  'rejected',
  'p50Ns',
  'p95Ns',
  'p99Ns',
  'resultTokens',
  'lastUsed',
] as const;
type Column = (typeof columns)[number];
const shownRows = 15;

/** Calls by tool, server or client with errors and durations, sortable by each column. */
export function Breakdown({
  report,
  onPick,
}: {
  report: Record<Kind, UsageStats[]>;
  onPick: (change: UsageFilters) => void;
}) {
  const labelOf = useServerName();
  const [kind, setKind] = useState<Kind>('tools');
  const [by, setBy] = useState<Column>('calls');
  const [all, setAll] = useState(false);
  const now = useNow();
  const value = (use: UsageStats): number =>
    by === 'lastUsed' ? Date.parse(use.lastUsed ?? '') || 0 : use[by];
  const sorted = [...report[kind]].sort((a, b) => value(b) - value(a));
  const shown = all ? sorted : sorted.slice(0, shownRows);
  const most = Math.max(1, ...sorted.map((use) => use.calls));
  const name = (use: UsageStats) =>
    kind === 'servers'
      ? labelOf(use.server ?? '')
      : kind === 'tools'
        ? (use.tool ?? '')
        : use.client || use.token || texts.calls.unknownClient;
  return (
    <section aria-label={words.breakdown}>
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <h2 className="font-semibold">{words.breakdown}</h2>
        <SegmentedControl
          label="Group by"
          value={kind}
          options={(['tools', 'servers', 'clients'] as const).map((k) => ({
            value: k,
            text: kindsTexts[k],
          }))}
          onChange={(next) => {
            setKind(next);
            setAll(false);
          }}
        />
      </div>
      <ScrollArea
        aria-label="Breakdown by name"
        className="overflow-x-auto rounded-lg border bg-panel shadow-card"
      >
        <table className="w-full min-w-[48rem] text-sm">
          <thead>
            <tr className="text-left text-xs text-ink3">
              <th scope="col" className="w-1/3 px-4 py-2 font-normal">
                {kindsTexts[kind]}
              </th>
              {columns.map((column) => (
                <th
                  key={column}
                  scope="col"
                  aria-sort={column === by ? 'descending' : undefined}
                  className="px-3 py-2 text-right font-normal"
                >
                  <button
                    type="button"
                    title={columnHintsTexts[column]}
                    onClick={() => setBy(column)}
                    className={classes(
                      'rounded whitespace-nowrap underline-offset-2 hover:underline',
                      column === by && 'font-semibold text-ink',
                    )}
                  >
                    {columnsTexts[column]}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((use) => (
              <tr
                key={`${use.server ?? ''}/${use.tool ?? ''}/${use.client ?? ''}/${use.token ?? ''}`}
                className="border-t hover:bg-hover"
              >
                <th scope="row" className="max-w-0 px-4 py-1.5 text-left font-normal">
                  <button
                    type="button"
                    onClick={() =>
                      onPick(
                        kind === 'clients'
                          ? { client: use.client || use.token }
                          : { server: use.server, tool: use.tool },
                      )
                    }
                    className="block max-w-full truncate rounded text-left font-medium outline-offset-[-2px] hover:text-accent"
                  >
                    {kind === 'tools' && use.server && (
                      <span className="font-normal text-ink3">
                        {escapeControlCharacters(cut(labelOf(use.server), 20))} /{' '}
                      </span>
                    )}
                    {escapeControlCharacters(name(use).slice(0, 200))}
                  </button>
                  <svg
                    viewBox="0 0 100 1"
                    preserveAspectRatio="none"
                    className="mt-1 block h-[3px] w-full"
                    aria-hidden
                  >
                    <rect
                      width={((use.calls - use.errors) / most) * 100}
                      height="1"
                      className="fill-accent"
                    />
                    <rect
                      x={((use.calls - use.errors) / most) * 100}
                      width={(use.errors / most) * 100}
                      height="1"
                      className="fill-bad"
                    />
                  </svg>
                </th>
                <td className="px-3 text-right">{count(use.calls)}</td>
                <td
                  className={classes(
                    'px-3 text-right whitespace-nowrap',
                    use.errors > 0 ? 'text-bad' : 'text-ink3',
                  )}
                >
                  {use.errors > 0 ? `${count(use.errors)} · ${share(use.errors, use.calls)}` : '0'}
                </td>
                <td className="px-3 text-right text-ink3">{count(use.rejected)}</td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p50Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p95Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p99Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap" title={bytes(use.resultBytes)}>
                  ~{count(use.resultTokens)}
                </td>
                <td className="px-3 text-right whitespace-nowrap text-ink3">
                  {use.lastUsed ? texts.servers.ago(age(use.lastUsed, now)) : '–'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
      <div className="mt-2 text-sm">
        <ShowMore n={sorted.length - shownRows} all={all} onToggle={setAll} />
      </div>
    </section>
  );
}
