import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestList } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { List, ToolSettings, ToolWithSettings } from '@/types/api';

const path = (id: string) => `/api/v1/servers/${encodeURIComponent(id)}/tools`;

export const toolSettingsQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', id, 'tools'],
    queryFn: ({ signal }) => requestList<ToolWithSettings>(path(id), signal),
    staleTime: 5000,
  });

export type Change = { [Key in keyof ToolSettings]?: ToolSettings[Key] | null };

/** Writes settings of tools to the configuration, in one edit; null removes a key. */
export function useToolSetting(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ tools, set }: { tools: string[]; set: Change }) =>
      request<List<ToolWithSettings>>('POST', path(server), { body: { tools, set } }),
    onSuccess: ({ items }) => {
      const changed = new Map((items ?? []).map((one) => [one.tool, one]));
      client.setQueryData<ToolWithSettings[]>(['server', server, 'tools'], (old) =>
        old?.map((one) => changed.get(one.tool) ?? one),
      );
      client.invalidateQueries({ queryKey: ['server', server, 'tools'] });
      client.invalidateQueries({ queryKey: ['tools'] });
    },
    onError: toastError,
  });
}
