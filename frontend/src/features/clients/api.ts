import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '@/lib/request';
import type { Client, Connection, ConnectionPlan, List } from '@/types/api';

/** No event tells of clients alone, so the list is read again while it is shown. */
export const clientsQuery = queryOptions({
  queryKey: ['clients'],
  queryFn: async ({ signal }) =>
    (await request<List<Client>>('GET', '/api/v1/clients', { signal })).items ?? [],
  refetchInterval: 5000,
});

/** The client applications of this machine; looked for anew while the page is open. */
export const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: async ({ signal }) =>
    (await request<List<Connection>>('GET', '/api/v1/connections', { signal })).items ?? [],
  refetchInterval: 10_000,
});

export interface Choice {
  http: boolean;
  move: boolean;
}

const path = (key: string, action: string) =>
  `/api/v1/connections/${encodeURIComponent(key)}/${action}`;

/** What would be written; nothing is. */
export const planQuery = (connection: Connection, choice: Choice) =>
  queryOptions({
    queryKey: ['connections', connection.key, 'plan', choice],
    queryFn: ({ signal }) =>
      request<ConnectionPlan>('POST', path(connection.key, 'plan'), {
        signal,
        body: { ...choice, ...(connection.project ? { project: connection.project } : {}) },
      }),
    staleTime: 0,
    gcTime: 0,
  });

/** Writes what was shown: another diff than that one is refused by the daemon. */
export function useConnect(connection: Connection) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ choice, diff }: { choice: Choice; diff: string }) =>
      request<ConnectionPlan>('POST', path(connection.key, 'connect'), {
        body: {
          ...choice,
          diff,
          ...(connection.project ? { project: connection.project } : {}),
        },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}

export type ConnectionAction = 'undo' | 'restore' | 'forget';

export function useConnectionAction(connection: Connection) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (action: ConnectionAction) =>
      request<{ result: string }>('POST', path(connection.key, action)),
    onSettled: () => client.invalidateQueries({ queryKey: ['connections'] }),
  });
}
