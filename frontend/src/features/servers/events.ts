import type { QueryClient } from '@tanstack/react-query';
import type { ServerDetail, ServerStatus } from '@/types/api';

/** Replaces all servers with the snapshot, also those that were removed while disconnected. */
export function replaceServers(client: QueryClient, servers: ServerStatus[]): void {
  client.cancelQueries({ queryKey: ['servers'] });
  client.setQueryData<ServerStatus[]>(['servers'], servers);
  client.invalidateQueries({ queryKey: ['server'] });
}

export function applyServer(client: QueryClient, status: ServerStatus): void {
  client.setQueryData<ServerStatus[]>(['servers'], (old) => {
    if (!old) return old;
    const known = old.some((s) => s.id === status.id);
    return known ? old.map((s) => (s.id === status.id ? status : s)) : [...old, status];
  });
  client.setQueryData<ServerDetail>(
    ['server', status.id],
    (old) => old && { log: old.log, usage: old.usage, ...status },
  );
}

/** Applies the response to a command, unless an event already reported a later state. */
export function applyCommandResponse(client: QueryClient, status: ServerStatus): void {
  const known = client
    .getQueryData<ServerStatus[]>(['servers'])
    ?.find((server) => server.id === status.id);
  if (known && Date.parse(known.since) > Date.parse(status.since)) return;
  applyServer(client, status);
}

export function applyRemoved(client: QueryClient, id: string): void {
  client.setQueryData<ServerStatus[]>(['servers'], (old) => old?.filter((s) => s.id !== id));
  client.removeQueries({ queryKey: ['server', id] });
}

/**
 * Merges a response with the changes by events during the request: the response can be older than
 * the events, and no later event would correct it.
 */
export function mergeNewerEvents(
  answer: ServerStatus[],
  before: ServerStatus[] | undefined,
  now: ServerStatus[] | undefined,
): ServerStatus[] {
  if (!now || now === before) return answer;
  const told = new Map(now.filter((s) => !before?.includes(s)).map((s) => [s.id, s]));
  const left = new Set(now.map(({ id }) => id));
  const removed = new Set(before?.map(({ id }) => id).filter((id) => !left.has(id)));
  const list = answer.filter(({ id }) => !removed.has(id)).map((s) => told.get(s.id) ?? s);
  for (const { id } of list) told.delete(id);
  return [...list, ...told.values()];
}
