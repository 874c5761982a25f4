import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { ShowMore } from '@/components/more';
import { count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';

/** A tool with what its definition costs. */
export interface CostedTool {
  server: string;
  tool: string;
  publicName: string;
  tokens: number;
}

const shown = 6;
const shownTools = 20;

/** What takes up the context, by server, and by tool when a server is opened; the largest first. */
export function ContextByServer({
  tools,
  instructions = 0,
}: {
  tools: CostedTool[];
  /** The tokens of the servers' instructions. */
  instructions?: number;
}) {
  const labelOf = useServerName();
  const [all, setAll] = useState(false);
  const byServer = new Map<string, CostedTool[]>();
  for (const one of tools) byServer.set(one.server, [...(byServer.get(one.server) ?? []), one]);
  const sum = (some: CostedTool[]) => some.reduce((tokens, one) => tokens + one.tokens, 0);
  const total = sum(tools) + instructions;
  const servers = [...byServer]
    .map(([server, some]) => ({ server, some, tokens: sum(some) }))
    .sort((a, b) => b.tokens - a.tokens);
  return (
    <div className="max-w-xl space-y-1 text-sm text-ink2">
      {servers.slice(0, all ? undefined : shown).map(({ server, some, tokens }) => (
        <details key={server} className="group">
          <summary className="flex cursor-pointer items-center gap-1 rounded hover:bg-hover">
            <ChevronRight
              className="size-3.5 shrink-0 group-open:rotate-90"
              strokeWidth={3}
              aria-hidden
            />
            <Share name={labelOf(server)} tokens={tokens} total={total} />
          </summary>
          <ul className="py-1 pl-6">
            {some
              .toSorted((a, b) => b.tokens - a.tokens)
              .slice(0, shownTools)
              .map((one) => (
                <li key={one.tool}>
                  <Link
                    to="/tools"
                    search={{ tool: one.publicName }}
                    className="flex rounded hover:bg-hover hover:text-ink"
                  >
                    <Share name={one.tool} tokens={one.tokens} total={total} />
                  </Link>
                </li>
              ))}
            {some.length > shownTools && (
              <li>
                <Link to="/tools" search={{ q: server }} className="text-accent underline">
                  {texts.more(some.length - shownTools)}
                </Link>
              </li>
            )}
          </ul>
        </details>
      ))}
      {instructions > 0 && (
        <div className="flex pl-[1.125rem]">
          <Share name="Instructions of the servers" tokens={instructions} total={total} />
        </div>
      )}
      <ShowMore n={servers.length - shown} all={all} onToggle={setAll} />
    </div>
  );
}

/** A part of the whole: its name, a bar, and its tokens. */
function Share({ name, tokens, total }: { name: string; tokens: number; total: number }) {
  return (
    <span className="flex min-w-0 flex-1 items-center gap-3">
      <span className="min-w-0 flex-1 truncate">{escapeControlCharacters(name.slice(0, 100))}</span>
      <span className="h-1.5 w-24 shrink-0 rounded-full bg-hover max-sm:hidden" aria-hidden>
        <span
          className="block h-full rounded-full bg-accent"
          style={{ width: `${(100 * tokens) / total}%` }}
        />
      </span>
      <span className="w-24 shrink-0 whitespace-nowrap text-right tabular-nums">
        {`${count(tokens)} · ${Math.round((100 * tokens) / total)} %`}
      </span>
    </span>
  );
}
