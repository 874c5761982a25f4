import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { plain } from '@/lib/format';
import { messageOf, request, requestList } from '@/lib/request';
import { toast } from '@/lib/toast';
import type { ToolChange, ToolEvent, ToolTrust } from '@/types/api';

/** What is withheld of one server, with what is different. */
export const changesQuery = (server: string) =>
  queryOptions({
    queryKey: ['tools', 'changes', server],
    queryFn: ({ signal }) =>
      requestList<ToolChange>(`/api/v1/tool-changes?server=${encodeURIComponent(server)}`, signal),
    retry: false,
  });

/** Tools that are new, withheld, warned of or always accepted, of all servers. */
export const trustQuery = queryOptions({
  queryKey: ['tools', 'trust'],
  queryFn: ({ signal }) => requestList<ToolTrust>('/api/v1/tool-trust', signal),
  retry: false,
});

/** What happened to one server's definitions, newest first. */
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

export type Word = 'accept' | 'always' | 'block' | 'ask';

/** Gives approval about one definition, as it was seen. */
export function useToolWord() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: {
      server: string;
      kind: string;
      tool: string;
      action: Word;
      hash?: string;
    }) => request<void>('POST', '/api/v1/tool-changes', { body }),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['tools'] });
      client.invalidateQueries({ queryKey: ['approvals'] });
      client.invalidateQueries({ queryKey: ['server'] });
    },
    onError: (error) => toast('bad', plain(messageOf(error))),
  });
}
