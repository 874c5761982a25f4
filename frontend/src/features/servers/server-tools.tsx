import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { ChevronDown, X } from 'lucide-react';
import { useCallback, useState } from 'react';
import { Button } from '@/components/button';
import { SearchField } from '@/components/fields';
import { Failed, Loading } from '@/components/page';
import { Switch } from '@/components/switch';
import { byName, escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { ToolWithSettings } from '@/types/api';
import { BulkToolSettings, ownSettings, SettingSelects } from './tool-setting-selects';
import { type Change, toolSettingsQuery, useToolSetting } from './tool-settings';

const offer = (tool: string) => `Show ${tool} to clients`;

const requireApproval = (client: string, tool: string) =>
  `Require approval again when ${client} calls ${tool}`;

const hiddenByTexts = withoutPrototypes({
  enabled: 'Hidden here',
  includeTools: 'Not in includeTools',
  excludeTools: 'Excluded by excludeTools',
  toolChanges: 'Hidden: changed, or blocked by you',
} as const);

const most = 200;

/** Switches the visibility of one tool, for its page in the list of all tools. */
export function OfferTool({ server, tool }: { server: string; tool: string }) {
  const change = useToolSetting(server);
  const { data } = useQuery(toolSettingsQuery(server));
  const found = data?.find((one) => one.tool === tool);
  if (!found) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 border-t px-4 py-3 text-sm md:px-5">
      <Switch
        label={offer(escapeControlCharacters(tool.slice(0, 200)))}
        on={found.shown}
        disabled={change.isPending}
        onChange={(on) => change.mutate({ tools: [tool], set: { enabled: on ? null : false } })}
      />
      Visible to clients
      <Link
        to="/servers/$id"
        params={{ id: server }}
        search={{ view: 'tools', tool }}
        className="ml-auto text-accent underline-offset-2 hover:underline"
      >
        Approval, limits, recording
      </Link>
    </div>
  );
}

/** All tools of a server with their settings: visibility, approval, timeout and recording. */
export function ServerTools({ id }: { id: string }) {
  const tools = useQuery(toolSettingsQuery(id));
  const { tool: linked } = useSearch({ strict: false });
  const [q, setQ] = useState('');
  const show = useCallback((row: HTMLElement | null) => {
    row?.scrollIntoView({ block: 'center' });
  }, []);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  if (tools.isPending) return <Loading />;
  if (tools.isError) {
    if (tools.error instanceof RequestError && tools.error.status === 404)
      return (
        <p className="px-5 py-4 text-sm">
          <Link to="/tools" search={{ server: id }} className="text-accent underline">
            Tools
          </Link>
        </p>
      );
    return <Failed error={tools.error} onRetry={() => tools.refetch()} />;
  }
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = tools.data
    .filter((tool) =>
      words.every((word) =>
        `${tool.tool} ${tool.title} ${tool.description}`.toLowerCase().includes(word),
      ),
    )
    .sort((a, b) => byName(a.tool, b.tool));
  // The tool of the link is shown even if the list is too long to show all.
  const at = found.findIndex((tool) => tool.tool === linked);
  const listed = found.slice(0, most);
  const beyond = found[at];
  if (beyond && at >= most) listed.unshift(beyond);
  const shown = tools.data.filter((tool) => tool.shown).length;
  if (tools.data.length === 0)
    return (
      <p className="px-4 py-4 text-sm text-ink3 md:px-5">
        Tools appear here when the server is running.
      </p>
    );
  return (
    <div className="space-y-3 px-4 py-4 md:px-5">
      <div className="@container flex flex-wrap items-center gap-3 text-sm text-ink2">
        {`${shown} of ${tools.data.length} tools are visible to clients.`}
        {tools.data.length > 6 && (
          <SearchField label={texts.tools.search} value={q} onChange={setQ} delayMs={80} />
        )}
      </div>
      {tools.data.length > 1 && (
        <BulkToolSettings id={id} found={found} selected={selected} onSelect={setSelected} />
      )}
      <table aria-label="Tools" className="w-full overflow-hidden rounded-lg border">
        <thead className="text-left text-xs text-ink3">
          <tr>
            {tools.data.length > 1 && <td />}
            <th scope="col" className="px-3 py-1.5 font-medium">
              Tool
            </th>
            <th scope="col" className="px-2 font-medium">
              Settings
            </th>
            <th scope="col" className="px-3 text-right font-medium">
              Visible
            </th>
          </tr>
        </thead>
        {listed.map((tool) => (
          <ToolRow
            key={tool.tool}
            row={tool.tool === linked ? show : undefined}
            id={id}
            tool={tool}
            selected={tools.data.length > 1 ? selected.has(tool.tool) : undefined}
            onSelect={(on) =>
              setSelected(
                new Set(
                  tools.data
                    .map((one) => one.tool)
                    .filter((name) => (name === tool.tool ? on : selected.has(name))),
                ),
              )
            }
          />
        ))}
      </table>
      {found.length > listed.length && (
        <p className="text-xs text-ink3">{texts.more(found.length - listed.length)}</p>
      )}
    </div>
  );
}

/** Reasons to hide a tool that its switch cannot change. */
const otherReasons = ['includeTools', 'excludeTools', 'toolChanges'];

function ToolRow({
  id,
  tool,
  row,
  selected,
  onSelect,
}: {
  id: string;
  tool: ToolWithSettings;
  /** Called with the row of the tool that a link leads to, which is highlighted. */
  row: ((row: HTMLElement | null) => void) | undefined;
  /** Undefined if there is nothing else to select. */
  selected: boolean | undefined;
  onSelect: (on: boolean) => void;
}) {
  const change = useToolSetting(id);
  const name = escapeControlCharacters(tool.tool.slice(0, 200));
  const [open, setOpen] = useState(row !== undefined);
  const set = (part: Change) => change.mutate({ tools: [tool.tool], set: part });
  const summary = ownSettings(tool.settings).join(', ') || 'Default';
  return (
    <tbody
      ref={row}
      aria-current={row ? 'true' : undefined}
      className="border-t aria-[current]:bg-accent-soft"
    >
      <tr className="text-sm">
        {selected !== undefined && (
          <td className="py-1.5 pl-3">
            <input
              type="checkbox"
              aria-label={`Select ${name}`}
              checked={selected}
              onChange={(event) => onSelect(event.target.checked)}
              className="block size-4 accent-(--accent)"
            />
          </td>
        )}
        <td className="w-full max-w-0 px-3 py-1.5">
          <p className="truncate font-medium">
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
          <p
            className={tool.hiddenBy ? 'truncate text-xs text-warn' : 'truncate text-xs text-ink3'}
          >
            {tool.hiddenBy
              ? (hiddenByTexts[tool.hiddenBy as keyof typeof hiddenByTexts] ??
                escapeControlCharacters(tool.hiddenBy))
              : escapeControlCharacters((tool.title || tool.description).slice(0, 300))}
          </p>
        </td>
        <td className="px-2">
          <Button
            small
            look="quiet"
            aria-expanded={open}
            aria-label={`${summary}: settings of ${name}`}
            onClick={() => setOpen((on) => !on)}
          >
            {summary}
            <ChevronDown className={open ? 'size-3.5 rotate-180' : 'size-3.5'} aria-hidden />
          </Button>
        </td>
        <td className="px-3 text-right">
          <Switch
            label={offer(name)}
            on={tool.shown}
            disabled={change.isPending || otherReasons.includes(tool.hiddenBy)}
            onChange={(on) => set({ enabled: on ? null : false })}
          />
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={4} className="px-3 pb-2.5">
            <div className="@container">
              <div className="flex flex-wrap gap-1.5">
                <SettingSelects name={name} settings={tool.settings} onChange={set} />
              </div>
              <ApprovalExceptions
                name={name}
                settings={tool.settings}
                disabled={change.isPending}
                onChange={set}
              />
            </div>
          </td>
        </tr>
      )}
    </tbody>
  );
}

/** The clients whose calls need no approval, for example after "Always allow"; each can be removed. */
function ApprovalExceptions({
  name,
  settings: { allowClients, approval },
  disabled,
  onChange,
}: {
  name: string;
  settings: ToolWithSettings['settings'];
  disabled: boolean;
  onChange: (part: Change) => void;
}) {
  if (allowClients.length === 0) return null;
  return (
    <div className="mt-1.5 flex flex-wrap items-center gap-1.5 text-xs text-ink2">
      {approval === 'deny'
        ? 'Denied. When it is not, no approval needed for'
        : 'No approval needed for'}
      <ul className="contents">
        {allowClients.map((client) => {
          const shown = escapeControlCharacters(client.slice(0, 100));
          const rest = allowClients.filter((one) => one !== client);
          return (
            <li key={client}>
              <button
                type="button"
                disabled={disabled}
                aria-label={requireApproval(shown, name)}
                title={requireApproval(shown, name)}
                onClick={() => onChange({ allowClients: rest.length > 0 ? rest : null })}
                className="flex max-w-full items-center gap-1 rounded-full bg-accent-soft py-0.5 pr-1.5 pl-2.5 text-accent"
              >
                <span className="max-w-64 truncate">{shown}</span>
                <X className="size-3.5 shrink-0" aria-hidden />
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
