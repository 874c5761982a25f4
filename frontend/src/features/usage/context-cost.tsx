import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ContextByServer, type CostedTool } from '@/components/context-by-server';
import { ShowMore } from '@/components/more';
import { ServerPrefix } from '@/components/server-prefix';
import { count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { Card } from './card';

const unusedNote = (n: number, tokens: string) =>
  `${n === 1 ? '1 tool' : `${count(n)} tools`}, ~${tokens} tokens`;

/** A tool with what its definition costs, and whether clients could do without it. */
export type ToolCost = CostedTool & { unused: boolean };

/** The cost of the tool list by server, for a client that gets all tools. */
export function ContextCost({ costs }: { costs: ToolCost[] }) {
  if (costs.length === 0) return null; // nothing has a cost without tools
  const total = costs.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <Card title="Context cost" note={total > 0 && texts.tools.tokens(count(total))}>
      <p className="mb-3 text-sm text-ink2">
        What the definitions of all tools take up in a model’s context, estimated as characters
        divided by four.{' '}
        <Link to="/clients" className="text-accent underline underline-offset-2">
          What each client gets
        </Link>
      </p>
      <ContextByServer tools={costs} />
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
