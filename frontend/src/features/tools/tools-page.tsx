import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Wrench, X } from 'lucide-react';
import { useMemo } from 'react';
import { Button } from '@/components/button';
import { SearchField } from '@/components/fields';
import { Empty, PageHeader } from '@/components/page';
import { classes } from '@/lib/classes';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Tool } from '@/types/api';
import { toolsQuery } from './api';

const route = getRouteApi('/tools');
const t = texts.tools;

export function matchesTool(tool: Tool, q: string, server: string | undefined): boolean {
  if (server && tool.server !== server) return false;
  const text = [tool.name, tool.title, tool.description].join(' ').toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function byServer(tools: Tool[]): [string, Tool[]][] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.server);
    if (group) group.push(tool);
    else groups.set(tool.server, [tool]);
  }
  return [...groups];
}

/** `labelOf` gives the name a person chose for a server. */
export function ToolsPage({ labelOf }: { labelOf: (server: string) => string }) {
  const { data: tools } = useSuspenseQuery(toolsQuery);
  const { q = '', server, tool: selected } = route.useSearch();
  const navigate = route.useNavigate();
  const groups = useMemo(
    () => byServer(tools.filter((tool) => matchesTool(tool, q, server))),
    [tools, q, server],
  );
  return (
    <>
      <PageHeader title={t.title} note={t.count(tools.length)}>
        {server && (
          <Button
            onClick={() =>
              navigate({ search: (old) => ({ ...old, server: undefined }), replace: true })
            }
          >
            {plain(labelOf(server))}
            <X className="size-3.5" aria-hidden />
          </Button>
        )}
        {tools.length > 3 && (
          <SearchField
            label={t.search}
            value={q}
            delayMs={80}
            onChange={(text) =>
              navigate({ search: (old) => ({ ...old, q: text || undefined }), replace: true })
            }
          />
        )}
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {tools.length === 0 ? (
          <Empty icon={Wrench} title={t.emptyTitle}>
            {t.emptyBody}
          </Empty>
        ) : groups.length === 0 ? (
          <p className="py-10 text-center text-ink2">{t.noMatch}</p>
        ) : (
          groups.map(([id, group]) => (
            <section key={id} className="mb-5 max-w-6xl" aria-label={plain(labelOf(id))}>
              <h2 className="sticky top-0 z-10 flex items-baseline gap-2 bg-canvas py-1.5 text-sm font-semibold">
                {plain(labelOf(id))}
                <span className="text-xs font-normal text-ink3">{t.count(group.length)}</span>
              </h2>
              <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
                {group.map((tool) => (
                  <ToolRow key={tool.name} tool={tool} selected={tool.name === selected} />
                ))}
              </ul>
            </section>
          ))
        )}
      </div>
    </>
  );
}

function ToolRow({ tool, selected }: { tool: Tool; selected: boolean }) {
  return (
    <li
      className={classes(
        'relative border-t px-4 py-2 first:border-t-0 [contain-intrinsic-size:auto_3.5rem] [content-visibility:auto]',
        selected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <Link
        to="/tools"
        search={(old) => ({ ...old, tool: tool.name })}
        aria-current={selected || undefined}
        className="font-medium outline-offset-[-2px] [overflow-wrap:anywhere] after:absolute after:inset-0"
      >
        {plain(tool.tool)}
      </Link>
      {tool.title && tool.title !== tool.tool && (
        <span className="ml-2 text-sm text-ink3">{plain(tool.title.slice(0, 200))}</span>
      )}
      <p className="line-clamp-1 text-sm text-ink2 [overflow-wrap:anywhere]">
        {plain(tool.description.slice(0, 300)) || t.noDescription}
      </p>
    </li>
  );
}
