import { infiniteQueryOptions, queryOptions, skipToken, useQuery } from '@tanstack/react-query';
import { jsonMembers, jsonString } from '@/lib/json-text';
import { RequestError, request, requestText } from '@/lib/request';
import type { Call, CallDetail, List } from '@/types/api';
import { type CallFilters, callQuery } from './filters';

const pageSize = 200;

/** The newest calls as the event stream told them, running ones included. Newest first. */
export const liveCallsQuery = queryOptions<Call[]>({
  queryKey: ['calls', 'live'],
  queryFn: skipToken,
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
});

const none: Call[] = [];

export function useLiveCalls(): Call[] {
  return useQuery(liveCallsQuery).data ?? none;
}

/** What the history holds, page by page into the past. */
export const historyQuery = (filters: CallFilters) =>
  infiniteQueryOptions({
    queryKey: ['calls', 'history', filters],
    queryFn: async ({ pageParam, signal }): Promise<List<Call>> =>
      request('GET', `/api/v1/calls?${callQuery(filters, pageParam, pageSize)}`, { signal }),
    initialPageParam: '',
    getNextPageParam: (last) => last.next || undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/** The newest calls of the tool that a call used. */
export const sameToolQuery = (call: Call) =>
  queryOptions({
    queryKey: ['calls', 'same', call.server, call.tool],
    queryFn: async ({ signal }) => {
      const query = callQuery({ server: call.server, tool: call.tool }, '', 100);
      return (await request<List<Call>>('GET', `/api/v1/calls?${query}`, { signal })).items ?? [];
    },
    staleTime: 30_000,
  });

/** One call with its payloads, which stay the text they were. */
export const callQueryOptions = (id: string) =>
  queryOptions({
    queryKey: ['calls', 'one', id],
    queryFn: async ({ signal }) =>
      parseDetail(await requestText('GET', `/api/v1/calls/${encodeURIComponent(id)}`, { signal })),
    staleTime: Number.POSITIVE_INFINITY,
    // A call that has just begun or ended may be on its way to the history still.
    retry: (failures, error) =>
      error instanceof RequestError && error.status === 404 ? failures < 2 : failures < 3,
    retryDelay: (attempt) => 300 * 2 ** attempt,
  });

/** Payloads come as JSON text in a string; an object in their place is kept as its own text. */
export function parseDetail(text: string): CallDetail {
  const detail = JSON.parse(text) as CallDetail;
  const members = jsonMembers(text);
  for (const name of ['arguments', 'result', 'error'] as const) {
    const member = members?.get(name);
    detail[name] =
      member === undefined || member === 'null' ? undefined : (jsonString(member) ?? member);
  }
  return detail;
}
