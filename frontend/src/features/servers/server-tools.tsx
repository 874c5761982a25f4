import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { SearchField, SelectField } from '@/components/fields';
import { Failed, Loading } from '@/components/page';
import { Switch } from '@/components/switch';
import { plain } from '@/lib/format';
import { messageOf, RequestError, request, requestList } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Approving, RecordMode, ToolSetting, ToolSettings } from '@/types/api';

const t = texts.servers.tooling;
const most = 200;

const path = (id: string) => `/api/v1/servers/${encodeURIComponent(id)}/tools`;

export const toolSettingsQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', id, 'tools'],
    queryFn: ({ signal }) => requestList<ToolSetting>(path(id), signal),
    staleTime: 5000,
  });

export type Change = { [Key in keyof ToolSettings]?: ToolSettings[Key] | null };

/** Writes the settings of one tool to the configuration; null removes a key. */
export function useToolSetting(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ tool, set }: { tool: string; set: Change }) =>
      request<ToolSetting>('POST', path(server), { body: { tool, set } }),
    onSuccess: (setting) => {
      client.setQueryData<ToolSetting[]>(['server', server, 'tools'], (old) =>
        old?.map((one) => (one.tool === setting.tool ? setting : one)),
      );
      client.invalidateQueries({ queryKey: ['server', server, 'tools'] });
      client.invalidateQueries({ queryKey: ['tools'] });
    },
    onError: (error) => toast('bad', plain(messageOf(error))),
  });
}

/** Switches the visibility of one tool, for its page in the list of all tools. */
export function OfferTool({ server, tool }: { server: string; tool: string }) {
  const change = useToolSetting(server);
  const { data } = useQuery(toolSettingsQuery(server));
  const found = data?.find((one) => one.tool === tool);
  if (!found) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 border-t px-4 py-3 text-sm md:px-5">
      <Switch
        label={t.offer(plain(tool.slice(0, 200)))}
        on={found.shown}
        disabled={change.isPending}
        onChange={(on) => change.mutate({ tool, set: { enabled: on ? null : false } })}
      />
      {t.offered}
      <Link
        to="/servers/$id"
        params={{ id: server }}
        search={{ view: 'tools' }}
        className="ml-auto text-accent underline-offset-2 hover:underline"
      >
        {t.more}
      </Link>
    </div>
  );
}

/** All tools of a server with their settings: visibility, approval, timeout and recording. */
export function ServerTools({ id }: { id: string }) {
  const tools = useQuery(toolSettingsQuery(id));
  const [q, setQ] = useState('');
  if (tools.isPending) return <Loading />;
  if (tools.isError) {
    if (tools.error instanceof RequestError && tools.error.status === 404)
      return (
        <p className="px-5 py-4 text-sm">
          <Link to="/tools" search={{ server: id }} className="text-accent underline">
            {texts.servers.viewTools}
          </Link>
        </p>
      );
    return <Failed error={tools.error} onRetry={() => tools.refetch()} />;
  }
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = tools.data.filter((tool) =>
    words.every((word) =>
      `${tool.tool} ${tool.title} ${tool.description}`.toLowerCase().includes(word),
    ),
  );
  const shown = tools.data.filter((tool) => tool.shown).length;
  if (tools.data.length === 0)
    return <p className="px-5 py-4 text-sm text-ink3">{texts.tools.emptyBody}</p>;
  return (
    <div className="space-y-3 px-4 py-4 md:px-5">
      <div className="@container flex flex-wrap items-center gap-3 text-sm text-ink2">
        {t.shown(shown, tools.data.length)}
        {tools.data.length > 6 && (
          <SearchField label={texts.tools.search} value={q} onChange={setQ} delayMs={80} />
        )}
      </div>
      <ul className="overflow-hidden rounded-lg border">
        {found.slice(0, most).map((tool) => (
          <ToolRow key={tool.tool} id={id} tool={tool} />
        ))}
      </ul>
      {found.length > most && (
        <p className="text-xs text-ink3">{texts.problems.more(found.length - most)}</p>
      )}
    </div>
  );
}

const approvals: Approving[] = ['', 'never', 'ask', 'destructive', 'deny'];
const keepings = ['', 'full', 'meta', 'off'] as const;
const timeouts = [0, 30_000, 60_000, 300_000, 600_000];

function ToolRow({ id, tool }: { id: string; tool: ToolSetting }) {
  const change = useToolSetting(id);
  const { settings } = tool;
  const name = plain(tool.tool.slice(0, 200));
  const set = (part: Change) => change.mutate({ tool: tool.tool, set: part });
  const timeout = settings.requestTimeoutMs ?? 0;
  return (
    <li className="border-t px-3 py-2.5 first:border-t-0">
      <div className="flex items-start gap-3">
        <span className="mt-0.5">
          <Switch
            label={t.offer(name)}
            on={tool.shown}
            disabled={
              change.isPending ||
              ['includeTools', 'excludeTools', 'toolChanges'].includes(tool.hiddenBy)
            }
            onChange={(on) => set({ enabled: on ? null : false })}
          />
        </span>
        <div className="min-w-0 flex-1">
          <p className="font-medium [overflow-wrap:anywhere]">
            {tool.publicName ? (
              <Link
                to="/tools"
                search={{ tool: tool.publicName }}
                className="underline-offset-2 hover:underline"
              >
                {name}
              </Link>
            ) : (
              <span className="text-ink3">{name}</span>
            )}
          </p>
          <p className="line-clamp-2 text-xs text-ink3 [overflow-wrap:anywhere]">
            {plain((tool.title || tool.description).slice(0, 300))}
          </p>
          {tool.hiddenBy && (
            <p className="text-xs text-warn">
              {t.hiddenBy[tool.hiddenBy as keyof typeof t.hiddenBy] ?? plain(tool.hiddenBy)}
            </p>
          )}
        </div>
      </div>
      <div className="@container mt-1.5">
        <div className="flex flex-wrap gap-1.5">
          <SelectField
            label={t.approval(name)}
            value={settings.approval ?? ''}
            options={approvals.map((value) => ({ value, text: t.approvals[value || 'unset'] }))}
            onChange={(value) => set({ approval: value === '' ? null : (value as Approving) })}
          />
          <SelectField
            label={t.timeout(name)}
            value={timeout === 0 ? '' : String(timeout)}
            options={[...new Set([...timeouts, timeout])].map((ms) => ({
              value: ms === 0 ? '' : String(ms),
              text: ms === 0 ? t.timeoutUnset : t.timeoutOf(ms / 1000),
            }))}
            onChange={(value) => set({ requestTimeoutMs: value === '' ? null : Number(value) })}
          />
          <SelectField
            label={t.record(name)}
            value={settings.record ?? ''}
            options={keepings.map((value) => ({ value, text: t.records[value || 'unset'] }))}
            onChange={(value) => set({ record: value === '' ? null : (value as RecordMode) })}
          />
        </div>
      </div>
    </li>
  );
}
