import { useNavigate } from '@tanstack/react-router';
import { Chart } from '@/components/chart';
import { count, duration } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { UsageReport } from '@/types/api';
import { seriesOf, type UsageFilters } from './api';

const t = texts.usage;

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
  /** Said in the middle of a chart that has nothing to show. */
  empty?: string | undefined;
}) {
  const navigate = useNavigate();
  const { at, stepMs, values } = seriesOf(report);
  const { server, tool, client } = filters;
  return (
    <Chart
      kind="bars"
      label={t.callsOverTime}
      at={at}
      stepMs={stepMs}
      height={height}
      empty={empty}
      format={(n) => count(Math.round(n * 10) / 10)}
      series={[
        {
          name: t.good,
          colour: 'accent',
          values: values.map((use) => (use ? use.calls - use.errors : 0)),
        },
        {
          name: t.errors,
          colour: 'bad',
          values: values.map((use) => use?.errors ?? 0),
        },
      ]}
      onPick={(from, to) =>
        navigate({
          to: '/calls',
          search: {
            server,
            tool,
            client,
            from: new Date(from).toISOString(),
            to: new Date(to).toISOString(),
          },
        })
      }
    />
  );
}

export function DurationChart({ report }: { report: UsageReport }) {
  const { at, stepMs, values } = seriesOf(report);
  return (
    <Chart
      kind="lines"
      label={t.durationsOverTime}
      at={at}
      stepMs={stepMs}
      format={(ns) => duration(ns).replace(/\.0+(?= )/, '')}
      series={[
        {
          name: 'p50',
          colour: 'ok',
          values: values.map((use) => use?.p50Ns),
        },
        {
          name: 'p95',
          colour: 'warn',
          values: values.map((use) => use?.p95Ns),
        },
        {
          name: 'p99',
          colour: 'bad',
          values: values.map((use) => use?.p99Ns),
        },
      ]}
    />
  );
}
