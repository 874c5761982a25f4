import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { messageOf, request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { List, ServerDetail, ServerStatus } from '@/types/api';
import { applyServer } from './events';

export const serversQuery = queryOptions({
  queryKey: ['servers'],
  queryFn: async ({ signal }) =>
    (await request<List<ServerStatus>>('GET', '/api/v1/servers', { signal })).items ?? [],
  staleTime: Number.POSITIVE_INFINITY, // the event stream keeps this list current
});

/** One server with its log and memory, which no event carries: asked for while somebody looks. */
export const serverQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', id],
    queryFn: ({ signal }) =>
      request<ServerDetail>('GET', `/api/v1/servers/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: 2000,
    staleTime: 1000,
  });

export type ServerAction = 'start' | 'stop' | 'restart' | 'enable' | 'disable';

export function useServerAction(server: ServerStatus) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (action: ServerAction) =>
      request<ServerStatus>('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/${action}`),
    onSuccess: (status) => applyServer(client, status),
    onError: (error, action) =>
      toast('bad', texts.servers.failedAction(action, server.label || server.id, messageOf(error))),
    onSettled: () => client.invalidateQueries({ queryKey: ['server', server.id] }),
  });
}

/** The name that a person chose for a server, by its id. */
export function useServerLabel(): (id: string) => string {
  const { data: servers } = useQuery(serversQuery);
  return useCallback(
    (id: string) => servers?.find((server) => server.id === id)?.label || id,
    [servers],
  );
}
