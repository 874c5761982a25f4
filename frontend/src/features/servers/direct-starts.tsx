import { queryOptions, useQuery } from '@tanstack/react-query';
import { bytes, duration, escapeControlCharacters } from '@/lib/format';
import { request } from '@/lib/request';
import type { Start, Starts } from '@/types/api';

/** How the servers whose command is npx were started; polled while shown. */
const startsQuery = queryOptions({
  queryKey: ['starts'],
  queryFn: ({ signal }) => request<Starts>('GET', '/api/v1/starts', { signal }),
  refetchInterval: 10_000,
});

/** How a server was started; empty if its command is not npx. */
export function useStartText(id: string): string {
  const { data } = useQuery(startsQuery);
  const start = data?.items.find((one) => one.server === id);
  return start ? startText(start) : '';
}

export function startText(start: Start): string {
  if (start.how === 'npx') return `By npx: ${escapeControlCharacters(start.why)}`;
  const took = start.startNs > 0 ? ` in ${duration(start.startNs)}` : '';
  const npx = start.npxStartNs > 0 ? `; npx took ${duration(start.npxStartNs)}` : '';
  const memory = start.npxBytes > 0 ? `; npm would take ${bytes(start.npxBytes)} more` : '';
  return `Directly, without npx,${took}${npx}${memory}`.replace(',;', ';').replace(/,$/, '');
}

/** What direct starts save, in one line. */
export function DirectStartSavings() {
  const { data } = useQuery(startsQuery);
  const direct = data?.items.filter((one) => one.how === 'direct').length ?? 0;
  if (!data || direct === 0 || data.savedBytes === 0) return null;
  const time = data.savedNs > 0 ? ` and ${duration(data.savedNs)} of start time` : '';
  return (
    <p className="text-sm text-ink3">
      {`${direct === 1 ? '1 server' : `${direct} servers`} started without npx: saves ${bytes(data.savedBytes)} of memory${time}.`}
    </p>
  );
}
