import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { request, requestList, requestText } from '@/lib/request';
import type { ConfigCopy, ConfigCopyText, RestoredConfig, SharedImport } from '@/types/api';

/** What would be given to others: names to look at, and the text as it is. */
export interface Export {
  text: string;
  servers: string[];
  profiles: string[];
  missingSecrets: string[];
}

export const exportQuery = queryOptions({
  queryKey: ['share'],
  queryFn: async ({ signal }) => readExport(await requestText('GET', '/api/v1/share', { signal })),
  staleTime: 0,
  retry: false,
});

/** The text itself is given on: numbers of a configuration must not be parsed. */
export function readExport(text: string): Export {
  const members = jsonMembers(text);
  const names = (key: string) => [...(jsonMembers(members?.get(key) ?? '')?.keys() ?? [])];
  return {
    text,
    servers: names('mcpServers'),
    profiles: names('profiles'),
    missingSecrets: (jsonElements(members?.get('missingSecrets') ?? '') ?? []).map(
      (name) => jsonString(name) ?? '',
    ),
  };
}

/** What a shared file would change; nothing is written. */
export function usePlanTaking() {
  return useMutation({
    mutationFn: (text: string) =>
      request<SharedImport>('POST', '/api/v1/share/plan', { body: { text } }),
  });
}

/** Takes a shared file as the plan has shown it. */
export function useTake() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (order: {
      text: string;
      diff: string;
      storedSecrets: string[];
      secrets: Record<string, string>;
    }) => request<SharedImport>('POST', '/api/v1/share', { body: order }),
    onSuccess: () => changed(client),
  });
}

export const copiesQuery = queryOptions({
  queryKey: ['config-copies'],
  queryFn: ({ signal }) => requestList<ConfigCopy>('/api/v1/config/backups', signal),
  staleTime: 0,
});

export const copyQuery = (name: string) =>
  queryOptions({
    queryKey: ['config-copies', name],
    queryFn: ({ signal }) =>
      request<ConfigCopyText>('GET', `/api/v1/config/backups/${encodeURIComponent(name)}`, {
        signal,
      }),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });

export function useKeepCopy() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<ConfigCopy>('POST', '/api/v1/config/backups'),
    onSuccess: () => client.invalidateQueries({ queryKey: ['config-copies'] }),
  });
}

/** Puts a copy in the place of the file, if that still is the one that was looked at. */
export function usePutBack() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({
      name,
      etag,
      secrets = [],
    }: {
      name: string;
      etag: string;
      /** Secrets that came with what is taken back. */
      secrets?: string[];
    }) => {
      const done = await request<RestoredConfig>(
        'POST',
        `/api/v1/config/backups/${encodeURIComponent(name)}/restore`,
        { body: { etag } },
      );
      for (const secret of secrets)
        await requestText('DELETE', `/api/v1/secrets/${encodeURIComponent(secret)}`);
      return done;
    },
    onSuccess: () => changed(client),
  });
}

function changed(client: ReturnType<typeof useQueryClient>) {
  for (const key of ['config', 'config-copies', 'servers', 'secrets', 'share', 'profiles'])
    client.invalidateQueries({ queryKey: [key] });
}
