import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { SearchField } from '@/components/fields';
import { CheckBox } from '@/components/text-field';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { measureFontScale } from '@/lib/measure-font-scale';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { type Entry, type Known, offers, switchTools, withAllServersListed } from './profile-entry';

const chosen = (on: number, all: number) => `${count(on)} of ${texts.servers.tools(all)}`;

/** A tool that can be selected. */
export interface PickTool {
  server: string;
  tool: string;
  title: string;
  tokens: number;
  unused: boolean;
}

type Row = { server: string; tools: PickTool[]; all: number } | { tool: PickTool };

/** A virtualized list of servers and their tools, each of which can be selected. */
export function ToolPicker({
  entry,
  known,
  tools,
  servers,
  onChange,
}: {
  entry: Entry;
  known: Known;
  tools: PickTool[];
  /** The configured servers in their order. */
  servers: string[];
  onChange: (entry: Entry) => void;
}) {
  const labelOf = useServerName();
  const [q, setQ] = useState('');
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo<Row[]>(() => {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const by = new Map<string, PickTool[]>();
    for (const tool of tools) {
      const list = by.get(tool.server);
      if (list) list.push(tool);
      else by.set(tool.server, [tool]);
    }
    const ids = new Set([...servers, ...by.keys(), ...Object.keys(entry.servers ?? {})]);
    return [...ids].flatMap((server): Row[] => {
      const all = by.get(server) ?? [];
      const head = `${server} ${labelOf(server)}`.toLowerCase();
      const found = all.filter((tool) => {
        const text = `${head} ${tool.tool} ${tool.title}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
      if (found.length === 0 && !words.every((word) => head.includes(word))) return [];
      return [{ server, tools: found, all: all.length }, ...found.map((tool) => ({ tool }))];
    });
  }, [tools, servers, entry.servers, q, labelOf]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      Math.round(('tool' in (rows[index] as Row) ? 36 : 44) * measureFontScale()),
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows have different heights
  useEffect(() => list.measure(), [rows]);
  const isOn = (tool: PickTool) => offers(entry, tool.server, tool.tool);
  const change = (server: string, some: PickTool[], on: boolean) => {
    if ((known.get(server) ?? []).length > 0) {
      onChange(
        switchTools(
          entry,
          known,
          server,
          some.map((tool) => tool.tool),
          on,
        ),
      );
      return;
    }
    // Its tools are not known yet: the whole server is included or excluded.
    const start = withAllServersListed(entry, known);
    const { [server]: old = {}, ...others } = start.servers ?? {};
    onChange({ ...start, servers: on ? { ...others, [server]: old } : others });
  };
  const on = tools.filter(isOn).length;
  return (
    <div className="space-y-2">
      <div className="@container flex flex-wrap items-center gap-3 text-sm">
        <span className="text-ink2" role="status">
          {chosen(on, tools.length)}
        </span>
        <SearchField label="Search servers and tools" value={q} onChange={setQ} delayMs={80} />
      </div>
      <CheckBox
        label="All servers, including future ones"
        checked={!entry.servers}
        onChange={(on) => {
          const { servers: _, ...rest } = entry;
          onChange(on ? rest : withAllServersListed(entry, allOf(known, servers)));
        }}
      />
      {rows.length === 0 && (
        <p className="py-6 text-center text-sm text-ink2">
          {q === '' ? texts.tools.emptyBody : 'Nothing matches this search.'}
        </p>
      )}
      <div
        ref={scroller}
        className={classes(
          'scroll-area max-h-[26rem] rounded-lg border',
          rows.length === 0 && 'hidden',
        )}
      >
        <ul
          aria-label="Servers and tools"
          className="relative"
          style={{ height: list.getTotalSize() }}
        >
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index] as Row;
            return (
              <li
                key={'tool' in row ? `${row.tool.server}/${row.tool.tool}` : row.server}
                className="absolute inset-x-0 top-0"
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                {'tool' in row ? (
                  <label className="flex h-full items-center gap-2.5 border-t px-3 pl-8 text-sm hover:bg-hover">
                    <input
                      type="checkbox"
                      checked={isOn(row.tool)}
                      onChange={(event) =>
                        change(row.tool.server, [row.tool], event.target.checked)
                      }
                      className="size-4 shrink-0 accent-(--accent)"
                    />
                    <span className="shrink-0 truncate max-w-[60%]">
                      {escapeControlCharacters(row.tool.tool.slice(0, 200))}
                    </span>
                    <span className="min-w-0 flex-1 truncate text-xs text-ink3">
                      {escapeControlCharacters(row.tool.title.slice(0, 200))}
                    </span>
                    <span className="shrink-0 text-xs text-ink3">
                      {texts.tools.tokens(count(row.tool.tokens))}
                    </span>
                  </label>
                ) : (
                  <ServerHead
                    label={escapeControlCharacters(labelOf(row.server).slice(0, 100))}
                    configured={servers.includes(row.server)}
                    on={row.tools.filter(isOn).length}
                    of={row.tools.length}
                    whole={row.all === 0 ? serverIn(entry, row.server) : undefined}
                    onSwitch={(on) => change(row.server, row.tools, on)}
                  />
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

const serverIn = (entry: Entry, server: string) => !entry.servers || server in entry.servers;

/** The known tools, with an empty list for servers without known tools. */
function allOf(known: Known, servers: string[]): Known {
  return new Map([...servers.map((id): [string, string[]] => [id, []]), ...known]);
}

function ServerHead({
  label,
  configured,
  on,
  of,
  whole,
  onSwitch,
}: {
  label: string;
  configured: boolean;
  on: number;
  of: number;
  /** Whether the server is included, if none of its tools are known. */
  whole: boolean | undefined;
  onSwitch: (on: boolean) => void;
}) {
  const all = whole ?? on === of;
  const none = whole === undefined ? on === 0 : !whole;
  return (
    <div className="flex h-full items-center gap-2.5 border-t bg-sunken px-3 text-sm">
      <span className="min-w-0 truncate font-semibold">{label}</span>
      <span className="min-w-0 flex-1 truncate text-xs text-ink3">
        {whole === undefined
          ? chosen(on, of)
          : configured
            ? 'Tools not known yet'
            : 'Not configured'}
      </span>
      <Button small aria-label={`All: ${label}`} disabled={all} onClick={() => onSwitch(true)}>
        All
      </Button>
      <Button small aria-label={`None: ${label}`} disabled={none} onClick={() => onSwitch(false)}>
        None
      </Button>
    </div>
  );
}
