import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import { compareIds } from '@/lib/format';
import type { Call, List } from '@/types/api';
import { callQueryOptions, liveCallsQuery } from './api';
import { isTaskRequest } from './task-steps';

/** How many live calls are kept in memory, and how many remain after the limit is exceeded. */
const liveLimit = 2000;
const liveKept = 1000;

/** Merges changes into a list that is sorted newest first. The last change of a call wins. */
export function mergeCalls(list: readonly Call[], changes: readonly Call[]): Call[] {
  const changed = new Map<string, Call>();
  for (const call of changes) changed.set(call.id, call);
  const merged = list.map((call) => {
    const change = changed.get(call.id);
    if (change) changed.delete(call.id);
    return change ?? call;
  });
  const added = [...changed.values()].sort((a, b) => compareIds(b.id, a.id));
  if (added.length === 0) return merged;
  const first = merged[0];
  const oldest = added.at(-1);
  if (!first || !oldest || compareIds(oldest.id, first.id) > 0) return [...added, ...merged];
  return [...added, ...merged].sort((a, b) => compareIds(b.id, a.id));
}

/** After a (re)connection the snapshot is authoritative, and the history is stale: refetch it. */
export function applyCallSnapshot(client: QueryClient, calls: Call[]): void {
  client.setQueryData(
    liveCallsQuery.queryKey,
    calls.filter((call) => !isTaskRequest(call)).sort((a, b) => compareIds(b.id, a.id)),
  );
  refreshHistory(client);
  client.invalidateQueries({ queryKey: ['calls', 'one'] });
}

export function applyCalls(client: QueryClient, changes: Call[]): void {
  const calls = changes.filter((call) => !isTaskRequest(call));
  applyTaskRequests(client, changes.filter(isTaskRequest));
  let full = false;
  client.setQueryData(liveCallsQuery.queryKey, (old: Call[] = []) => {
    const merged = mergeCalls(old, calls);
    full = merged.length > liveLimit;
    return full ? merged.slice(0, liveKept) : merged;
  });
  // The calls that were dropped here are in the history by now.
  if (full) refreshHistory(client);
  for (const call of calls) {
    if (call.outcome === '') continue;
    const key = ['calls', 'one', call.id];
    if (client.getQueryState(key)) client.invalidateQueries({ queryKey: key });
  }
}

/** The maximum number of calls that are refetched one by one. */
const mostTasks = 20;

/** A request about a task changes the call that created the task, which is refetched. */
function applyTaskRequests(client: QueryClient, requests: Call[]): void {
  const ended = requests.filter((request) => request.outcome !== '');
  const ids = new Set(ended.map((request) => request.task?.call ?? ''));
  if (ids.size > mostTasks) {
    client.setQueryData<Call[]>(liveCallsQuery.queryKey, (old) =>
      old?.filter((call) => !ids.has(call.id)),
    );
    refreshHistory(client);
    return;
  }
  for (const id of ids) {
    client
      .fetchQuery({ ...callQueryOptions(id), staleTime: 0 })
      .then(({ arguments: _a, result: _r, error: _e, taskCreated: _t, ...call }) => {
        const put = (list: Call[]) => list.map((old) => (old.id === id ? call : old));
        client.setQueryData<Call[]>(liveCallsQuery.queryKey, (old) => old && put(old));
        client.setQueriesData<InfiniteData<List<Call>>>(
          { queryKey: ['calls', 'history'] },
          (old) =>
            old && {
              ...old,
              pages: old.pages.map((page) => ({ ...page, items: put(page.items ?? []) })),
            },
        );
      })
      .catch(() => undefined); // deleted, or not recorded
  }
}

/** Keeps the first page only and refetches it; scrolling loads older pages again. */
function refreshHistory(client: QueryClient): void {
  client.setQueriesData<InfiniteData<List<Call>>>({ queryKey: ['calls', 'history'] }, (old) =>
    old && old.pages.length > 1
      ? { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) }
      : old,
  );
  client.invalidateQueries({ queryKey: ['calls', 'history'] });
}
