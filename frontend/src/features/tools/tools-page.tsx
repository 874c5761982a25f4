import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Wrench, X } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { SearchField } from '@/components/fields';
import { Empty, PageHeader } from '@/components/page';
import { SegmentedControl } from '@/components/segmented-control';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { measureFontScale } from '@/lib/measure-font-scale';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { HiddenTool, Tool } from '@/types/api';
import { toolsQuery } from './api';
import { type Group, grouped, orders, tokenCost } from './groups';

const orderTexts = { server: 'Server', calls: 'Calls', tokens: 'Context' };

const words = {
  order: 'Sort by',
  hiddenMatch: (n: number) =>
    `${texts.servers.tools(n)} that ${n === 1 ? 'matches is' : 'match are'} hidden from clients.`,
  calls: (n: number) => texts.clients.calls(count(n)),
};

const route = getRouteApi('/tools');
const t = texts.tools;

type Words = Pick<Tool, 'server' | 'name'> & Partial<Pick<Tool, 'title' | 'description'>>;

function matchesTool(tool: Words, q: string, server: string | undefined): boolean {
  if (server && tool.server !== server) return false;
  const text = [tool.name, tool.title, tool.description].join(' ').toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

type Row = { group: Group } | { tool: Tool; first: boolean; last: boolean };

const headHeight = 40;
const toolHeight = 36;

export function ToolsPage({
  mark,
  above,
  hidden = [],
  show,
  calls,
}: {
  /** Shown beside the name of a tool. */
  mark?: (tool: Tool) => ReactNode;
  /** Shown above the list of these tools. */
  above?: (tools: Tool[]) => ReactNode;
  /** The tools that are hidden from all clients. */
  hidden?: HiddenTool[] | undefined;
  /** Lets the user show hidden tools again. */
  show: (tools: HiddenTool[]) => ReactNode;
  /** The calls of each tool in 30 days, by "server/tool"; undefined until they are known. */
  calls: Map<string, number> | undefined;
}) {
  const labelOf = useServerName();
  const { data: tools } = useSuspenseQuery(toolsQuery);
  const { q = '', server, tool: selected, group: by = 'server' } = route.useSearch();
  const navigate = route.useNavigate();
  const listed = useMemo(
    () => tools.filter((tool) => matchesTool(tool, q, server)),
    [tools, q, server],
  );
  const groups = useMemo(
    () => grouped(listed, by, labelOf, (tool) => calls?.get(`${tool.server}/${tool.tool}`) ?? 0),
    [listed, by, labelOf, calls],
  );
  const isLost = (one: HiddenTool) =>
    matchesTool({ ...one, name: `${one.server}__${one.tool}` }, q, server);
  const lost = groups.length > 0 ? [] : hidden.filter(isLost);
  const cost = useMemo(() => listed.reduce((sum, tool) => sum + tokenCost(tool), 0), [listed]);
  return (
    <>
      <PageHeader
        title="Tools"
        note={
          tools.length > 0 && (
            <>
              {texts.servers.tools(tools.length, listed.length)}
              {cost > 0 && <span title={t.tokensHint}> · {t.tokens(count(cost))}</span>}
            </>
          )
        }
      >
        {server && (
          <Button
            onClick={() =>
              navigate({ search: (old) => ({ ...old, server: undefined }), replace: true })
            }
          >
            {escapeControlCharacters(labelOf(server).slice(0, 60))}
            <X className="size-3.5" aria-hidden />
          </Button>
        )}
        {tools.length > 3 && (
          <>
            <span className="text-sm text-ink3 max-sm:hidden" aria-hidden>
              {words.order}
            </span>
            <SegmentedControl
              label={words.order}
              value={by}
              onChange={(group) =>
                navigate({ search: (old) => ({ ...old, group }), replace: true })
              }
              options={orders.map((value) => ({ value, text: orderTexts[value] }))}
            />
            <SearchField
              label={t.search}
              value={q}
              delayMs={80}
              onChange={(text) =>
                navigate({ search: (old) => ({ ...old, q: text || undefined }), replace: true })
              }
            />
          </>
        )}
      </PageHeader>
      {above && (
        <div className="max-w-page shrink-0 px-4 pb-3 empty:hidden md:px-6">{above(listed)}</div>
      )}
      {tools.length === 0 && hidden.length > 0 ? (
        <Empty icon={Wrench} title="No tool is visible to clients">
          <p>Servers offer tools, but all of them are hidden. Show those that clients need.</p>
        </Empty>
      ) : tools.length === 0 ? (
        <Empty icon={Wrench} title="No tools yet">
          <p>{t.emptyBody}</p>
          <div className="mt-4 flex flex-wrap justify-center gap-2">
            <Link to="/add" className={buttonClasses('primary')}>
              {texts.add.button}
            </Link>
            <Link to="/directory" className={buttonClasses()}>
              {texts.directory.openDirectory}
            </Link>
          </div>
        </Empty>
      ) : groups.length === 0 ? (
        <div className="py-10 text-center text-ink2">
          <p>{t.noMatch}</p>
          {lost.length > 0 && (
            <p className="mt-2">
              {words.hiddenMatch(lost.length)} {show(lost)}
            </p>
          )}
        </div>
      ) : (
        <ToolList
          groups={groups}
          selected={selected}
          badge={by !== 'server' ? labelOf : undefined}
          mark={mark}
          calls={calls}
        />
      )}
    </>
  );
}

/** All groups as one virtualized list. */
function ToolList({
  groups,
  selected,
  badge,
  mark,
  calls,
}: {
  groups: Group[];
  calls: Map<string, number> | undefined;
  mark: ((tool: Tool) => ReactNode) | undefined;
  selected: string | undefined;
  /** Returns the label of a tool's server, if the groups do not show it. */
  badge: ((server: string) => string) | undefined;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo<Row[]>(
    () =>
      groups.flatMap((group) => [
        ...(group.title ? [{ group }] : []),
        ...group.tools.map((tool, i) => ({
          tool,
          first: i === 0,
          last: i === group.tools.length - 1,
        })),
      ]),
    [groups],
  );
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      Math.round(('group' in (rows[index] as Row) ? headHeight : toolHeight) * measureFontScale()),
    overscan: 10,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows have different heights
  useEffect(() => list.measure(), [rows]);
  const at = rows.findIndex((row) => 'tool' in row && row.tool.name === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list does not move when its rows change
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at); // a link may lead to any tool
  }, [selected]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step || event.metaKey || event.ctrlKey || event.altKey) return;
    const from = Number((event.target as HTMLElement).dataset.row ?? -1);
    let to = from + step;
    if (rows[to] && 'group' in (rows[to] as Row)) to += step;
    if (!rows[to]) return;
    event.preventDefault();
    list.scrollToIndex(to);
    const focus = () => scroller.current?.querySelector<HTMLElement>(`[data-row="${to}"]`)?.focus();
    if (scroller.current?.querySelector(`[data-row="${to}"]`)) focus();
    else requestAnimationFrame(focus);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside
    <div ref={scroller} onKeyDown={move} className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
      <ul
        aria-label="Tools"
        className="relative max-w-page"
        style={{ height: list.getTotalSize() }}
      >
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index] as Row;
          return (
            <li
              key={item.key}
              className="absolute inset-x-0 top-0"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              {'group' in row ? (
                <GroupHead group={row.group} />
              ) : (
                <ToolRow
                  row={row}
                  index={item.index}
                  selected={selected}
                  badge={badge}
                  mark={mark}
                  calls={calls && (calls.get(`${row.tool.server}/${row.tool.tool}`) ?? 0)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function GroupHead({ group }: { group: Group }) {
  const cost = group.tools.reduce((sum, tool) => sum + tokenCost(tool), 0);
  return (
    <h2 className="flex h-full items-end gap-2 pb-1.5 text-sm font-semibold">
      <span className="truncate">{escapeControlCharacters(group.title.slice(0, 300))}</span>
      <span className="shrink-0 text-xs font-normal text-ink3" title={t.tokensHint}>
        {texts.servers.tools(group.tools.length)} · {t.tokens(count(cost))}
      </span>
    </h2>
  );
}

function ToolRow({
  row: { tool, first, last },
  index,
  selected,
  badge,
  mark,
  calls,
}: {
  mark: ((tool: Tool) => ReactNode) | undefined;
  row: { tool: Tool; first: boolean; last: boolean };
  index: number;
  selected: string | undefined;
  badge: ((server: string) => string) | undefined;
  calls: number | undefined;
}) {
  const here = tool.name === selected;
  return (
    <div
      className={classes(
        'relative flex h-full items-center gap-3 border-x border-t px-4 text-sm',
        first && 'rounded-t-lg',
        last && 'rounded-b-lg border-b',
        here ? 'bg-accent-soft' : 'bg-panel hover:bg-hover',
      )}
    >
      <Link
        to="/tools"
        search={(old) => ({ ...old, tool: tool.name, from: undefined })}
        aria-current={here || undefined}
        data-row={index}
        className="max-w-[60%] shrink-0 truncate font-medium outline-offset-[-2px] after:absolute after:inset-0"
      >
        {escapeControlCharacters(tool.tool.slice(0, 300))}
      </Link>
      {mark?.(tool)}
      <span className="min-w-0 flex-1 truncate text-ink3">
        {escapeControlCharacters((tool.title || tool.description).slice(0, 300)) ||
          'No description.'}
      </span>
      {badge && (
        <span
          title="Server"
          className="max-w-40 truncate rounded bg-accent-soft px-1.5 text-xs text-accent"
        >
          {escapeControlCharacters(badge(tool.server).slice(0, 100))}
        </span>
      )}
      <span className="w-20 shrink-0 text-right text-xs text-ink3 max-sm:hidden">
        {calls === undefined ? '' : calls > 0 ? words.calls(calls) : 'Not called'}
      </span>
      <span
        title={t.tokensHint}
        className="w-24 shrink-0 whitespace-nowrap text-right text-xs text-ink3"
      >
        {t.tokens(count(tokenCost(tool)))}
      </span>
    </div>
  );
}
