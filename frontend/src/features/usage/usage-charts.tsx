import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Chart } from '@/components/lazy-chart';
import { count, escapeControlCharacters, roundDuration } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import type { UsageReport } from '@/types/api';
import { seriesOf, type UsageFilters, usageQuery, useUsualRange } from './api';

/** Where versions of servers began. */
function useVersionStarts(report: UsageReport) {
  const nameOf = useServerName();
  return useMemo(
    () =>
      report.versions.map(({ at, server, version, package: name }) => ({
        at: Date.parse(at),
        name: `First call to ${escapeControlCharacters(`${nameOf(server)} ${version || name}`.slice(0, 120))}`,
      })),
    [report.versions, nameOf],
  );
}

export const noCalls = 'No calls in this period';

/** What one bar contains: "calls per 30 min". */
export const slotText = (report: UsageReport) =>
  `calls per ${roundDuration(seriesOf(report).stepMs * 1e6).replace(/^1 /, '')}`;

/** Calls and errors over time; a click shows the calls of that time. */
export function CallsChart({
  report,
  filters = {},
  height,
  empty,
  outcome = '',
}: {
  report: UsageReport;
  filters?: UsageFilters;
  height?: number;
  /** Shown in the middle of an empty chart. */
  empty?: string | undefined;
  /** Only calls with this outcome are shown, if the report counts it. */
  outcome?: string | undefined;
}) {
  const { at, stepMs, values } = seriesOf(report);
  const events = useVersionStarts(report);
  const shown = { rejected: [1], failed: [2], ok: [0] }[outcome] ?? [0, 1, 2];
  return (
    <Chart
      kind="bars"
      label="Calls and errors"
      at={at}
      stepMs={stepMs}
      events={events}
      eventName="New version"
      height={height}
      empty={empty}
      format={(n) => count(Math.round(n * 10) / 10)}
      series={[
        {
          name: 'OK',
          colour: 'accent' as const,
          values: values.map((use) => (use ? use.calls - use.errors - use.rejected : 0)),
        },
        {
          name: 'Rejected',
          colour: 'warn' as const,
          values: values.map((use) => use?.rejected ?? 0),
        },
        {
          name: 'Errors',
          colour: 'bad' as const,
          values: values.map((use) => use?.errors ?? 0),
        },
      ].filter((_, i) => shown.includes(i))}
      onPick={useShowCalls(filters)}
    />
  );
}

/** The calls of a list over time. The report knows no other filters than these; with others, there is none. */
export function CallHistogram({ filters: all }: { filters: UsageFilters & { outcome?: string } }) {
  const { server, tool, client, range, from, to, outcome, ...others } = all;
  const usual = useUsualRange();
  const span = range || from || to ? { range, from, to } : { range: usual };
  const filters = { ...span, server, tool, client };
  // Times that a person types may be in the future, or in the wrong order: there are no calls then.
  const none = Date.parse(from ?? '') >= (to ? Date.parse(to) : Date.now());
  const { data: report } = useQuery({ ...usageQuery(filters), enabled: !none });
  if (none || Object.values(others).some(Boolean) || report?.total.calls === 0) return null;
  return (
    <div className="h-24 shrink-0 px-4 max-md:hidden md:px-6">
      {report && <CallsChart report={report} filters={all} height={72} outcome={outcome} />}
    </div>
  );
}

/** Opens the list of calls, filtered by the selected time. */
function useShowCalls(filters: UsageFilters) {
  const navigate = useNavigate();
  return (from: number, to: number) =>
    navigate({
      to: '/calls',
      search: {
        ...filters,
        range: undefined,
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
      },
    });
}

/** Latency over time; `brief` omits the p99. */
export function DurationChart({
  report,
  filters = {},
  height,
  empty,
  brief = false,
}: {
  report: UsageReport;
  filters?: UsageFilters;
  height?: number;
  empty?: string | undefined;
  brief?: boolean;
}) {
  const { at, stepMs, values } = seriesOf(report);
  const events = useVersionStarts(report);
  return (
    <Chart
      kind="lines"
      label="Latency"
      at={at}
      stepMs={stepMs}
      events={events}
      eventName="New version"
      height={height}
      empty={empty}
      format={tickOrDuration}
      series={[
        { name: 'Median', colour: 'ok' as const, values: values.map((use) => use?.p50Ns) },
        { name: 'p95', colour: 'warn' as const, values: values.map((use) => use?.p95Ns) },
        { name: 'p99', colour: 'bad' as const, values: values.map((use) => use?.p99Ns) },
      ].slice(0, brief ? 2 : 3)}
      onPick={useShowCalls(filters)}
    />
  );
}

/** The ticks of the axis are powers of ten: "100 s", not "1 min 40 s". */
function tickOrDuration(ns: number): string {
  if (ns > 1e10 && Number.isInteger(Math.log10(ns))) return `${ns / 1e9} s`;
  return roundDuration(ns);
}
