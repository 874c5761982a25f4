import { queryOptions, skipToken, useQueries, useQuery } from '@tanstack/react-query';
import { requestList } from '@/lib/request';
import type { Call, CallPreview } from '@/types/api';

/** The maximum number of previews in one response of the daemon. */
const most = 100;

interface Waiting {
  ids: string[];
  answer: Promise<Map<string, CallPreview>>;
}
const waiting = new Map<string, Waiting>();

/** Requests the previews of rows that are rendered at about the same time in one batch. */
function preview(id: string, q: string): Promise<CallPreview | null> {
  let batch = waiting.get(q);
  if (!batch || batch.ids.length >= most) {
    const ids: string[] = [];
    const answer = new Promise((resolve) => setTimeout(resolve, 30)).then(async () => {
      if (waiting.get(q)?.ids === ids) waiting.delete(q);
      const query = new URLSearchParams({ ids: ids.join(','), ...(q && { q }) });
      const items = await requestList<CallPreview>(`/api/v1/previews?${query}`);
      return new Map(items.map((item) => [item.id, item]));
    });
    batch = { ids, answer };
    waiting.set(q, batch);
  }
  batch.ids.push(id);
  return batch.answer.then((found) => found.get(id) ?? null);
}

const previewQuery = (id: string, q: string, ended: boolean) =>
  queryOptions({
    queryKey: ['calls', 'preview', id, q],
    queryFn: ended ? () => preview(id, q) : skipToken,
    // A call that has just ended is stored after a short delay.
    staleTime: (query) => (query.state.data === null ? 2000 : Number.POSITIVE_INFINITY),
    gcTime: 60_000,
    retry: 1,
  });

/** What a row shows of the payloads of a call, after the call has ended. */
export function usePreview(call: Call, q: string | undefined): CallPreview | undefined {
  return useQuery(previewQuery(call.id, q ?? '', call.outcome !== '')).data ?? undefined;
}

/** The arguments of calls that have ended, each as one line, by call ID. */
export function useArgumentLines(calls: Call[]): Map<string, string> {
  return useQueries({
    queries: calls.map((call) => previewQuery(call.id, '', call.outcome !== '')),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => (data ? [[data.id, data.arguments] as const] : []))),
  });
}
