import { useQuery, useSuspenseInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { compareIds } from '@/lib/format';
import type { Call } from '@/types/api';
import { historyQuery, newestQuery, useLiveCalls } from './api';
import { type CallFilters, matchesCall } from './filters';

/**
 * Live calls and the history as one list, newest first. With a full-text filter or a
 * tag the list contains only stored calls, and `newer` counts the matches since then.
 */
export function useCalls(filters: CallFilters) {
  const live = useLiveCalls();
  const history = useSuspenseInfiniteQuery(historyQuery(filters));
  // Depends only on the history, which can be long: not recalculated for each event.
  const stored = useMemo(
    () =>
      history.data.pages
        .flatMap((page) => page.items ?? [])
        .filter((call) => matchesCall(call, filters)),
    [history.data.pages, filters],
  );
  const places = useMemo(() => new Map(stored.map((call, i) => [call.id, i])), [stored]);
  const onlyStored = Boolean(filters.q || filters.tag);
  const calls = useMemo(
    () => merged(stored, places, live, filters, onlyStored),
    [live, stored, places, filters, onlyStored],
  );

  const searchedAt = history.data.pages[0]?.requestedAt ?? 0;
  // Only the daemon knows which of them have the text that is searched for. A new call has no tags.
  const since = live.filter(
    (call) =>
      Date.parse(call.at) > searchedAt && !places.has(call.id) && matchesCall(call, filters),
  );
  const { data: found = [] } = useQuery({
    ...newestQuery(filters),
    enabled: Boolean(filters.q) && !filters.tag && since.length > 0,
    refetchInterval: 2000,
  });
  const first = stored[0];
  const newer = found.filter(
    ({ id }) => !places.has(id) && (!first || compareIds(id, first.id) > 0),
  ).length;
  return {
    calls,
    newer,
    refresh: history.refetch,
    loadOlder: history.fetchNextPage,
    hasOlder: history.hasNextPage,
    isLoadingOlder: history.isFetchingNextPage,
  };
}

/** The stored calls merged with the live ones; neither list is modified. */
export function merged(
  stored: Call[],
  places: ReadonlyMap<string, number>,
  live: Call[],
  filters: CallFilters,
  onlyStored: boolean,
): Call[] {
  const ahead: Call[] = [];
  let past = stored;
  for (const call of live) {
    const at = places.get(call.id);
    if (at === undefined) {
      if (!onlyStored && matchesCall(call, filters)) ahead.push(call);
    } else if (stored[at]?.outcome !== call.outcome) {
      if (past === stored) past = [...stored];
      past[at] = call;
    }
  }
  return interleave(ahead, past);
}

/** Merges two lists that are sorted newest first. */
function interleave(a: Call[], b: Call[]): Call[] {
  const oldest = a.at(-1);
  const newest = b[0];
  if (!oldest) return b;
  if (!newest || compareIds(oldest.id, newest.id) > 0) return a.concat(b);
  const out: Call[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const x = a[i] as Call;
    const y = b[j] as Call;
    if (compareIds(x.id, y.id) > 0) {
      out.push(x);
      i++;
    } else {
      out.push(y);
      j++;
    }
  }
  while (i < a.length) out.push(a[i++] as Call);
  while (j < b.length) out.push(b[j++] as Call);
  return out;
}
