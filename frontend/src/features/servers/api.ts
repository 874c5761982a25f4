import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { formatJson, jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { withoutPrototypes } from '@/lib/own-property';
import { messageOf, request, requestList, requestText } from '@/lib/request';
import { findServer } from '@/lib/server-lookup';
import { toast } from '@/lib/toast';
import type {
  Debug,
  List,
  LogLine,
  ServerDetail,
  ServerStatus,
  ServerUsage,
  ServerVersion,
  Status,
} from '@/types/api';
import { applyCommandResponse, mergeNewerEvents } from './events';
import type { Draft } from './review-and-add-server';

export const serversQuery = queryOptions({
  queryKey: ['servers'],
  queryFn: async ({ client, signal }) => {
    const known = () => client.getQueryData<ServerStatus[]>(['servers']);
    const before = known();
    const answer = await request<List<ServerStatus>>('GET', '/api/v1/servers', { signal });
    return mergeNewerEvents(answer.items ?? [], before, known());
  },
  staleTime: Number.POSITIVE_INFINITY, // the event stream keeps this list current
});

/** One server with its log and memory use. Events do not contain these, so it is polled while shown. */
export const serverQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', id],
    queryFn: ({ signal }) =>
      request<ServerDetail>('GET', `/api/v1/servers/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: 2000,
    staleTime: 1000,
  });

export type ServerAction = 'start' | 'stop' | 'restart' | 'enable' | 'disable';

export const failedAction = (action: ServerAction, label: string, error: unknown) =>
  `Cannot ${action} ${label}: ${messageOf(error)}`;

export function useServerAction(server: ServerStatus) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (action: ServerAction) =>
      request<ServerStatus>('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/${action}`),
    onSuccess: (status) => applyCommandResponse(client, status),
    onError: (error, action) =>
      toast('bad', failedAction(action, server.label || server.id, error)),
    onSettled: () => client.invalidateQueries({ queryKey: ['server', server.id] }),
  });
}

const namesOf = (servers: ServerStatus[]) => servers.map(({ id, label }) => [id, label] as const);

/** Returns the user's name for a server by its id. */
export function useServerLabel(): (id: string) => string {
  // Selects only the names, so that a change of a state does not render all lists of calls again.
  const { data: names } = useQuery({ ...serversQuery, select: namesOf });
  return useCallback((id: string) => names?.find(([one]) => one === id)?.[1] || id, [names]);
}

/** The id of the server that a URL specifies by its id or by its name. */
export function useServerID(text: string | undefined): string | undefined {
  const { data: names } = useQuery({ ...serversQuery, select: namesOf });
  return text === undefined ? undefined : findServer(names ?? [], text);
}

/** The package version that each server runs, by server; polled while shown. */
export const versionsQuery = queryOptions({
  queryKey: ['server-versions'],
  queryFn: async ({ signal }) =>
    new Map(
      ((await request<List<ServerVersion>>('GET', '/api/v1/versions', { signal })).items ?? []).map(
        (one) => [one.server, one.version] as const,
      ),
    ),
  refetchInterval: 30_000,
  retry: false,
});

/** The resource usage of all servers; polled while shown. */
export const serverUseQuery = queryOptions({
  queryKey: ['server-usage'],
  queryFn: ({ signal }) => requestList<ServerUsage>('/api/v1/server-usage', signal),
  refetchInterval: 5000,
  retry: false,
});

/** The number of tools that clients see, by server; only servers with hidden tools are included. */
export const visibleToolsQuery = queryOptions({
  queryKey: ['visible-tools'],
  queryFn: async ({ signal }) =>
    withoutPrototypes(
      (await request<Status>('GET', '/api/v1/status', { signal })).visibleTools ?? {},
    ),
  refetchInterval: 5000,
  retry: false,
});

/** Debug information of a server with its newest messages, which can contain secrets. */
export const debugQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', id, 'debug'],
    queryFn: ({ signal }) =>
      request<Debug>('GET', `/api/v1/servers/${encodeURIComponent(id)}/debug`, { signal }),
    refetchInterval: 3000,
  });

/** The filters of a log; "debug" shows all lines. */
export const logLevels = ['debug', 'stderr', 'lifecycle', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export const logQuery = (id: string, level: LogLevel) =>
  queryOptions({
    queryKey: ['server', id, 'log', level],
    queryFn: ({ signal }) =>
      requestList<LogLine>(
        `/api/v1/servers/${encodeURIComponent(id)}/log?level=${level}&limit=1000`,
        signal,
      ),
    refetchInterval: 2000,
  });

/** Removes a server from the configuration. */
export function useRemoveServer(id: string) {
  return useMutation({
    mutationFn: () => requestText('DELETE', `/api/v1/servers/${encodeURIComponent(id)}`),
  });
}

/** A server that was found in a text; `refused` says why it cannot be added. */
export type ParsedServer = Draft & { notes: string[]; refused?: string | undefined };

/** The servers in a pasted text. The numbers of their entries keep their digits. */
export async function parseServers(pasted: string, signal: AbortSignal) {
  // What a shell exports before the command is a part of it.
  const text = /^\s*export\s/.test(pasted)
    ? pasted.replace(/\bexport\s+(\w+=(?:"[^"]*"|'[^']*'|[^\s;&'"]+))\s*?(?:;|&&|\n)\s*/g, '$1 ')
    : pasted;
  const answer = await requestText('POST', '/api/v1/parse-servers', { body: { text }, signal });
  const members = jsonMembers(answer);
  const servers = (jsonElements(members?.get('servers') ?? '') ?? []).map((one): ParsedServer => {
    const server = jsonMembers(one);
    return {
      name: jsonString(server?.get('name')) ?? '',
      entry: formatJson(server?.get('entry') ?? '{}'),
      notes: JSON.parse(server?.get('notes') ?? '[]'),
      refused: jsonString(server?.get('refused')),
    };
  });
  return { servers, unreadableLink: members?.get('unreadableLink') === 'true' };
}
