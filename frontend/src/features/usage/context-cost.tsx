import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ShowMore } from '@/components/more';
import { ServerPrefix } from '@/components/server-prefix';
import { count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { Card } from './card';

const unusedNote = (n: number, tokens: string) =>
  `${n === 1 ? '1 tool' : `${count(n)} tools`}, ~${tokens} tokens`;

/** The number of servers that are shown at first. */
const few = 12;

/** The cost of a tool's definition in tokens, for each model that reads it. */
export interface ToolCost {
  server: string;
  tool: string;
  publicName: string;
  tokens: number;
  unused: boolean;
}

/** The cost of the tool list by server, for each model that reads it. */
export function ContextCost({ costs }: { costs: ToolCost[] }) {
  const labelOf = useServerName();
  const [all, setAll] = useState(false);
  const sums = new Map<string, { tokens: number; tools: number }>();
  for (const cost of costs) {
    const sum = sums.get(cost.server) ?? { tokens: 0, tools: 0 };
    sums.set(cost.server, { tokens: sum.tokens + cost.tokens, tools: sum.tools + 1 });
  }
  if (costs.length === 0) return null; // nothing has a cost without tools
  const list = [...sums].sort(([, a], [, b]) => b.tokens - a.tokens);
  const shown = all ? list : list.slice(0, few);
  const total = list.reduce((sum, [, { tokens }]) => sum + tokens, 0);
  const most = Math.max(1, list[0]?.[1].tokens ?? 1);
  return (
    <Card title="Context cost" note={total > 0 && texts.tools.tokens(count(total))}>
      <p className="mb-3 text-sm text-ink2">
        Tool definitions take up part of each model’s context. Estimated as characters divided by
        four.
      </p>
      <ul className="space-y-2 text-sm">
        {shown.map(([server, { tokens, tools }]) => (
          <li key={server}>
            <div className="flex items-baseline gap-3">
              <Link
                to="/tools"
                search={{ server }}
                className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
              >
                {escapeControlCharacters(labelOf(server).slice(0, 100))}
              </Link>
              <span className="text-xs text-ink3">{texts.servers.tools(tools)}</span>
              <span className="min-w-28 text-right">{texts.tools.tokens(count(tokens))}</span>
            </div>
            <svg
              viewBox="0 0 100 1"
              preserveAspectRatio="none"
              className="mt-1 block h-1 w-full"
              aria-hidden
            >
              <rect width="100" height="1" className="fill-sunken" />
              <rect width={(tokens / most) * 100} height="1" className="fill-accent" />
            </svg>
          </li>
        ))}
      </ul>
      <div className="mt-2 text-sm">
        <ShowMore n={list.length - few} all={all} onToggle={setAll} />
      </div>
    </Card>
  );
}

/** Tools that use context and were not called for 30 days; nothing if there are none. */
export function Unused({ costs }: { costs: ToolCost[] }) {
  const labelOf = useServerName();
  const [all, setAll] = useState(false);
  const list = costs.filter((cost) => cost.unused).sort((a, b) => b.tokens - a.tokens);
  const tokens = list.reduce((sum, cost) => sum + cost.tokens, 0);
  const shown = all ? list.slice(0, 500) : list.slice(0, 8);
  if (list.length === 0) return null;
  return (
    <Card title="Not called in 30 days" note={unusedNote(list.length, count(tokens))}>
      <p className="mb-3 text-sm text-ink2">
        These tools take up context, and their servers have been in use for at least seven days.
        Hide those you do not need.
      </p>
      <ul className="space-y-1 text-sm">
        {shown.map((cost) => (
          <li key={cost.publicName} className="flex items-baseline gap-3">
            <Link
              to="/tools"
              search={{ tool: cost.publicName }}
              className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
            >
              <ServerPrefix label={labelOf(cost.server)} />
              {escapeControlCharacters(cost.tool.slice(0, 200))}
            </Link>
            <span className="shrink-0 text-ink3">{texts.tools.tokens(count(cost.tokens))}</span>
          </li>
        ))}
      </ul>
      <div className="mt-2 text-sm">
        <ShowMore n={list.length - 8} all={all} onToggle={setAll} />
      </div>
    </Card>
  );
}
