import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import type {
  Finding,
  HistoryState,
  List,
  RecordingSettings,
  RetentionPreview,
  Secrets,
} from '@/types/api';

export const historyStateQuery = queryOptions({
  queryKey: ['history'],
  queryFn: ({ signal }) => request<HistoryState>('GET', '/api/v1/history', { signal }),
  refetchInterval: 10_000,
});

/** Writes the recording settings: the rules, and whether recording is paused. */
export function useRecording() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (recording: RecordingSettings) =>
      request<HistoryState>('PUT', '/api/v1/history/recording', { body: recording }),
    onSuccess: (state) => {
      client.setQueryData(['history'], state);
      client.invalidateQueries({ queryKey: ['status'] });
    },
  });
}

/** The limits of the history; 0 is unlimited. */
export interface Bounds {
  keepDays: number;
  maxBytes: number;
}

/** Counts the calls that limits would delete, without deleting them. */
export function useRetentionPreview() {
  return useMutation({
    mutationFn: (bounds: Bounds) =>
      request<RetentionPreview>('POST', '/api/v1/history/retention-preview', { body: bounds }),
  });
}

/** The new configuration: a text, or the name of a backup. */
export type Wanted = { text: string } | { copy: string };

/** Counts the calls that the limits of a new configuration would delete, without deleting them. */
export function useConfigRetentionPreview() {
  return useMutation({
    mutationFn: (wanted: Wanted) =>
      request<RetentionPreview>('POST', '/api/v1/config/retention-preview', { body: wanted }),
  });
}

export type Upkeep = 'prune' | 'vacuum';

export function useHistoryMaintenance() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (what: Upkeep) =>
      request<{ deleted?: number }>('POST', `/api/v1/history/${what}`, { body: {} }),
    onSettled: () => client.invalidateQueries({ queryKey: ['history'] }),
  });
}

export const secretsQuery = queryOptions({
  queryKey: ['secrets'],
  queryFn: ({ signal }) => request<Secrets>('GET', '/api/v1/secrets', { signal }),
  retry: false,
});

export function useUnlock() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<Secrets>('POST', '/api/v1/secrets/unlock'),
    onSuccess: (secrets) => client.setQueryData(['secrets'], secrets),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
}

export const doctorQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: ({ signal }) => requestList<Finding>('/api/v1/doctor', signal),
  staleTime: 60_000,
  retry: false,
});

export function useRemedy() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      request<List<Finding>>('POST', `/api/v1/doctor/${encodeURIComponent(id)}`),
    onSuccess: (found) => client.setQueryData(['doctor'], found.items ?? []),
  });
}
