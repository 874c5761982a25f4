import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { ToolChange, ToolEvent, ToolTrust } from '@/types/api';

/** The withheld changes of one server with their diffs. */
export const changesQuery = (server: string) =>
  queryOptions({
    queryKey: ['tools', 'changes', server],
    queryFn: ({ signal }) =>
      requestList<ToolChange>(`/api/v1/tool-changes?server=${encodeURIComponent(server)}`, signal),
    retry: false,
  });

/** The tools of all servers that are new, withheld, always accepted or have warnings. */
export const trustQuery = queryOptions({
  queryKey: ['tools', 'trust'],
  queryFn: ({ signal }) => requestList<ToolTrust>('/api/v1/tool-trust', signal),
  retry: false,
});

/** The event log of one server's definitions, newest first. */
export const toolLogQuery = (server: string) =>
  queryOptions({
    queryKey: ['tools', 'log', server],
    queryFn: ({ signal }) =>
      requestList<ToolEvent>(
        `/api/v1/tool-changes/log?limit=20&server=${encodeURIComponent(server)}`,
        signal,
      ),
    retry: false,
  });

export type ToolDecision = 'accept' | 'always' | 'block' | 'ask';

/** Sends a decision about one definition; `hash` identifies the version that was shown. */
export function useToolDecision() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: {
      server: string;
      kind: string;
      tool: string;
      action: ToolDecision;
      hash?: string;
    }) => request<void>('POST', '/api/v1/tool-changes', { body }),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['tools'] });
      client.invalidateQueries({ queryKey: ['approvals'] });
      client.invalidateQueries({ queryKey: ['server'] });
    },
    onError: toastError,
  });
}
