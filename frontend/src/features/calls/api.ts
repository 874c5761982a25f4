import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryClient,
  queryOptions,
  skipToken,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { jsonMembers, jsonString } from '@/lib/json-text';
import { isConflict, RequestError, request, requestList, requestText, send } from '@/lib/request';
import type {
  Call,
  CallDetail,
  CallResult,
  Facets,
  HistoryState,
  List,
  Note,
  Session,
  SessionFrame,
} from '@/types/api';
import { type CallFilters, callQuery, filterQuery } from './filters';

const pageSize = 200;

/** The latest calls of the event stream, including running ones, newest first. */
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

/** How often calls were deleted: lists that are being read start anew. */
export const erasuresQuery = queryOptions<number>({
  queryKey: ['calls', 'erasures'],
  queryFn: skipToken,
  staleTime: Number.POSITIVE_INFINITY,
});

/** A page of the history, and when it was requested. */
type HistoryPage = List<Call> & { requestedAt: number };

/** The calls in the history, page by page, newest first. */
export const historyQuery = (filters: CallFilters) =>
  infiniteQueryOptions({
    queryKey: ['calls', 'history', filters],
    queryFn: async ({ pageParam, signal }): Promise<HistoryPage> => {
      const requestedAt = Date.now();
      const query = callQuery(filters, pageParam, pageSize);
      const page = await request<List<Call>>('GET', `/api/v1/calls?${query}`, { signal });
      return { ...page, requestedAt };
    },
    initialPageParam: '',
    getNextPageParam: (last) => last.next || undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/** The newest calls that match filters now. */
export const newestQuery = (filters: CallFilters) =>
  queryOptions({
    queryKey: ['calls', 'newest', filters],
    queryFn: ({ signal }) =>
      requestList<Call>(`/api/v1/calls?${callQuery(filters, '', pageSize)}`, signal),
    gcTime: 0,
  });

/** The newest calls of the tool that a call used. */
export const sameToolQuery = (call: Pick<Call, 'server' | 'tool'>) =>
  queryOptions({
    queryKey: ['calls', 'same', call.server, call.tool],
    queryFn: async ({ signal }) => {
      const query = callQuery({ server: call.server, tool: call.tool }, '', 100);
      return (await request<List<Call>>('GET', `/api/v1/calls?${query}`, { signal })).items ?? [];
    },
    staleTime: 30_000,
  });

/** One call with its payloads, which stay unparsed text. */
export const callQueryOptions = (id: string) =>
  queryOptions({
    queryKey: ['calls', 'one', id],
    queryFn: async ({ signal }) =>
      parseDetail(await requestText('GET', `/api/v1/calls/${encodeURIComponent(id)}`, { signal })),
    staleTime: Number.POSITIVE_INFINITY,
    // A call that has just started or ended may not be in the history yet.
    retry: (failures, error) => {
      const { status = 0, code = '' } = error instanceof RequestError ? error : {};
      return code !== 'validation' && failures < (status === 404 ? 2 : 3);
    },
    retryDelay: (attempt) => 300 * 2 ** attempt,
  });

/** Payloads are strings that contain JSON text; an object is converted to its source text. */
export function parseDetail(text: string): CallDetail {
  const detail = JSON.parse(text) as CallDetail;
  const members = jsonMembers(text);
  for (const name of ['arguments', 'result', 'error', 'taskCreated'] as const) {
    const member = members?.get(name);
    detail[name] =
      member === undefined || member === 'null' ? undefined : (jsonString(member) ?? member);
  }
  return detail;
}

/** The number of calls for each value of each filter. */
export const facetsQuery = (filters: CallFilters) =>
  queryOptions({
    queryKey: ['calls', 'facets', filters],
    queryFn: ({ signal }) =>
      request<Facets>('GET', `/api/v1/facets?${filterQuery(filters)}`, { signal }),
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });

/** The state of the history: its content, its size and its index. */
export const historyStateQuery = queryOptions({
  queryKey: ['history'],
  queryFn: ({ signal }) => request<HistoryState>('GET', '/api/v1/history', { signal }),
  refetchInterval: 10_000,
});

export const sessionsQuery = infiniteQueryOptions({
  queryKey: ['calls', 'sessions'],
  queryFn: ({ pageParam, signal }) =>
    request<List<Session>>('GET', `/api/v1/sessions?limit=100${pageParam}`, { signal }),
  initialPageParam: '',
  getNextPageParam: (last) => (last.next ? `&before=${last.next}` : undefined),
  staleTime: 5000,
});

/** The maximum number of calls of a session that are shown; the last ones of a longer session. */
export const timelineLimit = 500;

/** The calls of one session, oldest first. */
export const timelineQuery = (session: string) =>
  queryOptions({
    queryKey: ['calls', 'timeline', session],
    queryFn: async ({ signal }) => {
      const query = callQuery({ session }, '', timelineLimit);
      const page = await request<List<Call>>('GET', `/api/v1/calls?${query}`, { signal });
      return { calls: (page.items ?? []).reverse(), more: page.next !== '' };
    },
    staleTime: 5000,
  });

/** The raw messages of a session; empty unless debugging is on for its client or server. */
export const framesQuery = (session: string) =>
  queryOptions({
    queryKey: ['frames', session],
    queryFn: ({ signal }) =>
      requestList<SessionFrame>(
        `/api/v1/frames?${new URLSearchParams({ session, limit: '200' })}`,
        signal,
      ),
    refetchInterval: 5000,
    retry: false,
  });

/** Replaces the note `base`, and updates the cached call with the response of the daemon. */
export async function writeNote(client: QueryClient, id: string, note: Note, base: Note) {
  const detail = parseDetail(
    await requestText('PUT', `/api/v1/calls/${encodeURIComponent(id)}/note`, {
      body: { ...note, base },
    }),
  );
  client.setQueryData(['calls', 'one', id], detail);
  return detail;
}

export function useNote(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ note, base }: { note: Note; base: Note }) => writeNote(client, id, note, base),
    onError: (error) => {
      if (isConflict(error)) return client.invalidateQueries({ queryKey: ['calls', 'one', id] });
    },
  });
}

/** Repeats a call unchanged. Without `confirm` the daemon does so only for a read-only tool. */
export function useReplay(id: string) {
  return useMutation({
    mutationFn: (confirm: boolean) =>
      request<CallResult>('POST', `/api/v1/calls/${encodeURIComponent(id)}/replay`, {
        body: { confirm },
      }),
  });
}

export interface Erasure {
  ids?: string[];
  client?: string;
  session?: string;
}

/** Deletes calls so that none of their data remains on disk. */
export function useErase() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (what: Erasure) =>
      request<{ deleted: number }>('POST', '/api/v1/calls/delete', { body: what }),
    onSuccess: (_, what) => {
      client.setQueryData(erasuresQuery.queryKey, (old = 0) => old + 1);
      client.setQueryData<Call[]>(liveCallsQuery.queryKey, (old) =>
        old?.filter(
          (call) =>
            !what.ids?.includes(call.id) &&
            (!what.client || call.client !== what.client) &&
            (!what.session || call.session !== what.session),
        ),
      );
      for (const id of what.ids ?? []) {
        client.removeQueries({ queryKey: ['calls', 'one', id] });
        client.removeQueries({ queryKey: ['calls', 'preview', id] });
      }
      for (const key of ['history', 'facets', 'sessions', 'timeline'])
        client.invalidateQueries({ queryKey: ['calls', key] });
      client.invalidateQueries({ queryKey: ['history'] });
    },
  });
}

/** Exports the calls that match the filters. */
export async function exportCalls(filters: CallFilters, format: 'jsonl' | 'csv'): Promise<Blob> {
  const query = filterQuery(filters);
  query.set('format', format);
  const response = await send(`/api/v1/export?${query}`, {
    method: 'GET',
    headers: { Accept: '*/*' },
  });
  return response.blob();
}
