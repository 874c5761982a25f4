import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { request } from '@/lib/request';
import { lengths, type Range, type Span, setBounds } from '@/lib/time-range';
import type { List, SessionCost, UsageReport, UsageStats } from '@/types/api';

export interface UsageFilters extends Span {
  server?: string;
  tool?: string;
  client?: string;
}

/** The usage report of a range; polled while shown. */
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

/** What the newest sessions cost in each tool mode. */
export const sessionCostsQuery = (client: string | undefined) =>
  queryOptions({
    queryKey: ['usage', 'sessions', client],
    queryFn: ({ signal }) =>
      request<List<SessionCost>>(
        'GET',
        `/api/v1/usage/sessions${client ? `?client=${encodeURIComponent(client)}` : ''}`,
        { signal },
      ),
    staleTime: 60_000,
  });

/**
 * The range to show first: a day, or what contains all calls of the day if that is shorter, because a
 * day would draw them as one bar.
 */
export function useUsualRange(): Range {
  const { data } = useQuery(usageQuery({ range: '24h' }));
  const first = Date.parse(data?.series[0]?.at ?? '');
  return (['15m', '1h'] as const).find((range) => Date.now() - first < lengths[range]) ?? '24h';
}

/** The series as slots of equal length, including empty ones. */
export function seriesOf(report: UsageReport): {
  at: number[];
  stepMs: number;
  values: (UsageStats | undefined)[];
} {
  const stepMs = Math.max(60_000, report.seriesNs / 1e6);
  const first = Math.floor(Date.parse(report.from) / stepMs) * stepMs;
  const wanted = Math.ceil((Date.parse(report.to) - first) / stepMs);
  const n = Number.isFinite(wanted) ? Math.min(1000, Math.max(1, wanted)) : 0;
  const at = Array.from({ length: n }, (_, i) => first + i * stepMs);
  const values = new Array<UsageStats | undefined>(n).fill(undefined);
  for (const use of report.series) {
    const i = Math.floor((Date.parse(use.at ?? '') - first) / stepMs);
    if (i >= 0 && i < n) values[i] = use;
  }
  return { at, stepMs, values };
}
