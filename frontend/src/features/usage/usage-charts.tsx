import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Chart } from '@/components/lazy-chart';
import { count, escapeControlCharacters, roundDuration } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { UsageReport } from '@/types/api';
import { seriesOf, type UsageFilters } from './api';

const t = texts.usage;

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

/** Calls and errors over time; a click shows the calls of that time. */
export function CallsChart({
  report,
  filters = {},
  height,
  empty,
}: {
  report: UsageReport;
  filters?: UsageFilters;
  height?: number;
  /** Shown in the middle of an empty chart. */
  empty?: string | undefined;
}) {
  const { at, stepMs, values } = seriesOf(report);
  const events = useVersionStarts(report);
  return (
    <Chart
      kind="bars"
      label={t.callsOverTime}
      at={at}
      stepMs={stepMs}
      events={events}
      height={height}
      empty={empty}
      format={(n) => count(Math.round(n * 10) / 10)}
      series={[
        {
          name: 'Without errors',
          colour: 'accent',
          values: values.map((use) => (use ? use.calls - use.errors - use.rejected : 0)),
        },
        {
          name: 'Rejected',
          colour: 'warn',
          values: values.map((use) => use?.rejected ?? 0),
        },
        {
          name: t.errors,
          colour: 'bad',
          values: values.map((use) => use?.errors ?? 0),
        },
      ]}
      onPick={useShowCalls(filters)}
    />
  );
}

/** Opens the list of calls, filtered by the selected time. */
function useShowCalls({ server, tool, client }: UsageFilters) {
  const navigate = useNavigate();
  return (from: number, to: number) =>
    navigate({
      to: '/calls',
      search: {
        server,
        tool,
        client,
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
      label={t.durationsOverTime}
      at={at}
      stepMs={stepMs}
      events={events}
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
