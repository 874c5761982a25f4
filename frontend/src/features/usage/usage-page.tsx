import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ChartColumn, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { Moment } from '@/components/moment';
import { Empty, PageHeader } from '@/components/page';
import { ScrollArea } from '@/components/scroll-area';
import { Segments } from '@/components/segments';
import { classes } from '@/lib/classes';
import { age, count, duration, plain, share } from '@/lib/format';
import { useNow } from '@/lib/now';
import { type Range, ranges, type Span } from '@/lib/range';
import { texts } from '@/lib/texts';
import type { Use } from '@/types/history';
import { type UsageFilters, usageQuery } from './api';
import { CallsChart, DurationChart } from './usage-charts';

const route = getRouteApi('/usage');
const t = texts.usage;

/** What a tool's definition costs each model that sees it, in tokens. */
export interface ToolCost {
  server: string;
  tool: string;
  publicName: string;
  tokens: number;
}

export function UsagePage({
  costs,
  labelOf,
}: {
  costs: ToolCost[];
  labelOf: (server: string) => string;
}) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { server, tool, client, from, to } = search;
  const own = from !== undefined || to !== undefined;
  const range: Range | undefined = own ? undefined : (search.range ?? '24h');
  const filters: UsageFilters = { range, ...inOrder(from, to), server, tool, client };
  const { data: report } = useSuspenseQuery(usageQuery(filters));
  const change = (change: UsageFilters) =>
    navigate({ to: '.', search: (old) => ({ ...old, ...change }), replace: true });
  const { total } = report;
  return (
    <>
      <PageHeader title={t.title}>
        {server && (
          <Chip
            text={labelOf(server)}
            onClick={() => change({ server: undefined, tool: undefined })}
          />
        )}
        {tool && <Chip text={tool} onClick={() => change({ tool: undefined })} />}
        {client && <Chip text={client} onClick={() => change({ client: undefined })} />}
        <Segments
          label={texts.calls.timeRange}
          value={range ?? 'own'}
          options={[...ranges, 'own' as const].map((value) => ({
            value,
            text: texts.ranges[value],
          }))}
          onChange={(value) =>
            change(
              value === 'own'
                ? { range: undefined, ...moments(report) }
                : { range: value, from: undefined, to: undefined },
            )
          }
        />
      </PageHeader>
      {own && (
        <div className="flex flex-wrap gap-2 px-4 pb-2 md:px-6">
          <Moment
            label={texts.calls.from}
            value={from}
            onChange={(from) => change({ from, range: undefined })}
          />
          <Moment
            label={texts.calls.to}
            value={to}
            onChange={(to) => change({ to, range: undefined })}
          />
        </div>
      )}
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-6">
          {total.calls === 0 ? (
            <div className="rounded-lg border border-dashed border-strong">
              <Empty icon={ChartColumn} title={t.emptyTitle}>
                <p>{t.emptyBody}</p>
                {range !== '30d' && (
                  <Button
                    className="mt-4"
                    onClick={() => change({ range: '30d', from: undefined, to: undefined })}
                  >
                    {t.look30}
                  </Button>
                )}
              </Empty>
            </div>
          ) : (
            <>
              <Figures total={total} />
              <div className="grid gap-4 lg:grid-cols-2">
                <Card title={t.callsOverTime}>
                  <CallsChart report={report} filters={filters} />
                </Card>
                <Card title={t.durationsOverTime}>
                  <DurationChart report={report} />
                </Card>
              </div>
              <Breakdown
                report={{ servers: report.servers, tools: report.tools, clients: report.clients }}
                labelOf={labelOf}
                onPick={change}
              />
            </>
          )}
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <ContextCost costs={costs} labelOf={labelOf} />
            <Unused costs={costs} labelOf={labelOf} />
          </div>
        </div>
      </div>
    </>
  );
}

/** While one of them is moved, an end may come before its beginning. */
function inOrder(from: string | undefined, to: string | undefined): Span {
  return from && to && from > to ? { from: to, to: from } : { from, to };
}

/** What is shown, as moments that can be moved. */
function moments({ from, to }: { from: string; to: string }): Span {
  const minute = (text: string) => new Date(Date.parse(text)).toISOString();
  return { from: minute(from), to: minute(to) };
}

function Chip({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <Button onClick={onClick} title={texts.calls.takeAway}>
      <span className="max-w-48 truncate">{plain(text.slice(0, 100))}</span>
      <X className="size-3.5" aria-hidden />
    </Button>
  );
}

function Card({ title, note, children }: { title: string; note?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border bg-panel p-4 shadow-card">
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <h2 className="font-semibold">{title}</h2>
        {note && <span className="text-sm text-ink3">{note}</span>}
      </div>
      {children}
    </section>
  );
}

function Figures({ total }: { total: Use }) {
  const list: [string, string, string?][] = [
    [t.calls, count(total.calls)],
    [t.errors, count(total.errors), `${share(total.errors, total.calls)}`],
    [t.half, duration(total.p50Ns)],
    [t.most, duration(total.p95Ns)],
    [t.nearlyAll, duration(total.p99Ns)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line shadow-card sm:grid-cols-5">
      {list.map(([label, value, note], index) => (
        <div
          key={label}
          className={classes('bg-panel px-4 py-3', index === 0 && 'max-sm:col-span-2')}
        >
          <dt className="text-xs text-ink3">{label}</dt>
          <dd className="mt-0.5 text-xl font-semibold tracking-tight">
            {value}
            {note && <span className="ml-1.5 text-xs font-normal text-ink3">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

type Kind = 'servers' | 'tools' | 'clients';
type Column = 'calls' | 'errors' | 'p50Ns' | 'p95Ns' | 'p99Ns' | 'lastUsed';
const columns: Column[] = ['calls', 'errors', 'p50Ns', 'p95Ns', 'p99Ns', 'lastUsed'];
const shownRows = 15;

function Breakdown({
  report,
  labelOf,
  onPick,
}: {
  report: Record<Kind, Use[]>;
  labelOf: (server: string) => string;
  onPick: (change: UsageFilters) => void;
}) {
  const [kind, setKind] = useState<Kind>('tools');
  const [by, setBy] = useState<Column>('calls');
  const [all, setAll] = useState(false);
  const now = useNow();
  const value = (use: Use): number =>
    by === 'lastUsed' ? Date.parse(use.lastUsed ?? '') || 0 : use[by];
  const sorted = [...report[kind]].sort((a, b) => value(b) - value(a));
  const shown = all ? sorted : sorted.slice(0, shownRows);
  const most = Math.max(1, ...sorted.map((use) => use.calls));
  const name = (use: Use) =>
    kind === 'servers'
      ? labelOf(use.server ?? '')
      : kind === 'tools'
        ? (use.tool ?? '')
        : use.client || use.token || texts.calls.unknownClient;
  return (
    <section aria-label={t.breakdown}>
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <h2 className="font-semibold">{t.breakdown}</h2>
        <Segments
          label={t.by}
          value={kind}
          options={(['tools', 'servers', 'clients'] as const).map((k) => ({
            value: k,
            text: t.kinds[k],
          }))}
          onChange={(next) => {
            setKind(next);
            setAll(false);
          }}
        />
      </div>
      <ScrollArea
        aria-label={t.table}
        className="overflow-x-auto rounded-lg border bg-panel shadow-card"
      >
        <table className="w-full min-w-[40rem] text-sm">
          <thead>
            <tr className="text-left text-xs text-ink3">
              <th scope="col" className="w-2/5 px-4 py-2 font-normal">
                {t.kinds[kind]}
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
                    onClick={() => setBy(column)}
                    className={classes(
                      'rounded underline-offset-2 hover:underline',
                      column === by && 'font-semibold text-ink',
                    )}
                  >
                    {t.columns[column]}
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
                      <span className="font-normal text-ink3">{plain(labelOf(use.server))} / </span>
                    )}
                    {plain(name(use).slice(0, 200))}
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
                  className={classes('px-3 text-right', use.errors > 0 ? 'text-bad' : 'text-ink3')}
                >
                  {use.errors > 0 ? `${count(use.errors)} · ${share(use.errors, use.calls)}` : '0'}
                </td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p50Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p95Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap">{duration(use.p99Ns)}</td>
                <td className="px-3 text-right whitespace-nowrap text-ink3">
                  {use.lastUsed ? texts.servers.ago(age(use.lastUsed, now)) : '–'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
      {sorted.length > shownRows && (
        <Button
          className="mt-2"
          small
          look="quiet"
          aria-expanded={all}
          onClick={() => setAll((on) => !on)}
        >
          {all ? texts.problems.less : texts.problems.more(sorted.length - shownRows)}
        </Button>
      )}
    </section>
  );
}

/** What the tool list costs every model that reads it, server by server. */
function ContextCost({
  costs,
  labelOf,
}: {
  costs: ToolCost[];
  labelOf: (server: string) => string;
}) {
  const sums = new Map<string, { tokens: number; tools: number }>();
  for (const cost of costs) {
    const sum = sums.get(cost.server) ?? { tokens: 0, tools: 0 };
    sums.set(cost.server, { tokens: sum.tokens + cost.tokens, tools: sum.tools + 1 });
  }
  const list = [...sums].sort(([, a], [, b]) => b.tokens - a.tokens);
  const total = list.reduce((sum, [, { tokens }]) => sum + tokens, 0);
  const most = Math.max(1, list[0]?.[1].tokens ?? 1);
  return (
    <Card title={t.context} note={total > 0 && texts.tools.tokens(count(total))}>
      <p className="mb-3 text-sm text-ink2">{t.contextBody}</p>
      {list.length === 0 ? (
        <p className="text-sm text-ink3">{texts.tools.emptyBody}</p>
      ) : (
        <ul className="space-y-2 text-sm">
          {list.slice(0, 12).map(([server, { tokens, tools }]) => (
            <li key={server}>
              <div className="flex items-baseline gap-3">
                <Link
                  to="/tools"
                  search={{ server }}
                  className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
                >
                  {plain(labelOf(server).slice(0, 100))}
                </Link>
                <span className="text-xs text-ink3">{texts.servers.tools(tools)}</span>
                <span className="w-20 text-right">{count(tokens)}</span>
              </div>
              <svg
                viewBox="0 0 100 1"
                preserveAspectRatio="none"
                className="mt-1 block h-1 w-full"
                aria-hidden
              >
                <rect width="100" height="1" className="fill-sunken" />
                <rect width={(tokens / most) * 100} height="1" className="fill-accent" />
              </svg>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Tools that cost context and were not used for 30 days. */
function Unused({ costs, labelOf }: { costs: ToolCost[]; labelOf: (server: string) => string }) {
  const { data } = useQuery(usageQuery({ range: '30d' }, 60_000));
  const [all, setAll] = useState(false);
  if (!data || costs.length === 0) return null; // of no tools nothing can be said
  const used = new Set(data.tools.map((use) => `${use.server}/${use.tool}`));
  const list = costs
    .filter((cost) => !used.has(`${cost.server}/${cost.tool}`))
    .sort((a, b) => b.tokens - a.tokens);
  const tokens = list.reduce((sum, cost) => sum + cost.tokens, 0);
  const shown = all ? list.slice(0, 500) : list.slice(0, 8);
  return (
    <Card title={t.unused} note={list.length > 0 && t.unusedNote(list.length, count(tokens))}>
      {list.length === 0 ? (
        <p className="text-sm text-ink3">{t.unusedNone}</p>
      ) : (
        <>
          <p className="mb-3 text-sm text-ink2">{t.unusedBody}</p>
          <ul className="space-y-1 text-sm">
            {shown.map((cost) => (
              <li key={cost.publicName} className="flex items-baseline gap-3">
                <Link
                  to="/tools"
                  search={{ tool: cost.publicName }}
                  className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
                >
                  <span className="text-ink3">{plain(labelOf(cost.server).slice(0, 100))} / </span>
                  {plain(cost.tool.slice(0, 200))}
                </Link>
                <span className="shrink-0 text-ink3">{texts.tools.tokens(count(cost.tokens))}</span>
              </li>
            ))}
          </ul>
          {list.length > 8 && (
            <button
              type="button"
              aria-expanded={all}
              onClick={() => setAll((on) => !on)}
              className={`mt-2 ${buttonClasses('quiet', true)}`}
            >
              {all ? texts.problems.less : texts.problems.more(list.length - 8)}
            </button>
          )}
        </>
      )}
    </Card>
  );
}
