import { useSuspenseInfiniteQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { compareIds } from '@/lib/format';
import type { Call } from '@/types/api';
import { historyQuery, useLiveCalls } from './api';
import { type CallFilters, matchesCall } from './filters';

/**
 * Live calls and the history as one list, newest first. With a full-text filter or a
 * tag only the history can answer; `newer` then counts what came in since. So it does
 * while the list is held still.
 */
export function useCalls(filters: CallFilters, still: boolean) {
  const now = useLiveCalls();
  const held = useRef(now);
  if (!still) held.current = now;
  const live = held.current;
  const history = useSuspenseInfiniteQuery(historyQuery(filters));
  const stored = useMemo(
    () => history.data.pages.flatMap((page) => page.items ?? []),
    [history.data.pages],
  );
  const storedIds = useMemo(() => new Set(stored.map((call) => call.id)), [stored]);
  const onlyStored = Boolean(filters.q || filters.tag);
  const calls = useMemo(() => {
    const fresh = new Map(live.map((call) => [call.id, call]));
    const current = (call: Call) => fresh.get(call.id) ?? call;
    const past = stored.map(current).filter((call) => matchesCall(call, filters));
    if (onlyStored) return past;
    const ahead = live.filter((call) => !storedIds.has(call.id) && matchesCall(call, filters));
    return interleave(ahead, past);
  }, [live, stored, storedIds, filters, onlyStored]);

  const newest = (still ? calls[0]?.id : stored[0]?.id) ?? '';
  const newer =
    onlyStored || still
      ? now.filter(
          (call) =>
            compareIds(call.id, newest) > 0 &&
            !storedIds.has(call.id) &&
            matchesCall(call, filters),
        ).length
      : 0;
  return {
    calls,
    newer,
    refresh: history.refetch,
    loadOlder: history.fetchNextPage,
    hasOlder: history.hasNextPage,
    isLoadingOlder: history.isFetchingNextPage,
  };
}

/** Merges two lists that are sorted newest first. */
function interleave(a: Call[], b: Call[]): Call[] {
  if (a.length === 0) return b;
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
