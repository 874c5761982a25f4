import { useMutation, useQueryClient } from '@tanstack/react-query';
import { toastError } from '@/lib/toast';
import type { FullRecording, HistoryState } from '@/types/api.gen';
import { request } from './request';

/** Changes what is recorded in full for a while, as it is now. */
export function useRecordFull() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (change: (full: FullRecording[]) => FullRecording[]) => {
      const { recording } = await request<HistoryState>('GET', '/api/v1/history');
      return request<HistoryState>('PUT', '/api/v1/history/recording', {
        body: { ...recording, full: change(recording.full ?? []) },
      });
    },
    onSuccess: (state) => {
      client.setQueryData(['history'], state);
      client.invalidateQueries({ queryKey: ['status'] });
    },
    onError: toastError,
  });
}

/** The list with one more; it replaces one of the same session, client or server. */
export function withFullRecording(
  what: Omit<FullRecording, 'until'>,
  minutes: number,
): (full: FullRecording[]) => FullRecording[] {
  return (full) => [
    ...full.filter(
      (one) =>
        one.session !== what.session || one.client !== what.client || one.server !== what.server,
    ),
    { ...what, until: new Date(Date.now() + minutes * 60_000).toISOString() },
  ];
}
