import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { slots } from '@/components/chart';
import { type Span, setBounds } from '@/lib/range';
import { request } from '@/lib/request';
import type { UsageReport, Use } from '@/types/api';

export interface UsageFilters extends Span {
  server?: string;
  tool?: string;
  client?: string;
}

/** What was called in a range; asked for anew while it is looked at. */
export const usageQuery = (filters: UsageFilters, everyMs = 15_000) =>
  queryOptions({
    queryKey: ['usage', filters],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams();
      setBounds(query, filters, Date.now());
      for (const name of ['server', 'tool', 'client'] as const) {
        const value = filters[name];
        if (value) query.set(name, value);
      }
      return request<UsageReport>('GET', `/api/v1/usage?${query}`, { signal });
    },
    staleTime: 5000,
    refetchInterval: everyMs,
    placeholderData: keepPreviousData,
  });

/** For how many full days calls are recorded, as the report of 30 days tells it. */
export function recordedDays(report: UsageReport): number {
  const to = Date.parse(report.to);
  const first = Date.parse(report.series[0]?.at ?? '');
  return Math.floor((to - (first || to)) / 86_400_000);
}

/** The series as slots of equal length, empty ones included. */
export function seriesOf(report: UsageReport): {
  at: number[];
  stepMs: number;
  values: (Use | undefined)[];
} {
  const stepMs = Math.max(60_000, report.seriesNs / 1e6);
  const { at, values } = slots(
    report.series,
    (use) => Date.parse(use.at ?? ''),
    Date.parse(report.from),
    Date.parse(report.to),
    stepMs,
  );
  return { at, stepMs, values };
}
