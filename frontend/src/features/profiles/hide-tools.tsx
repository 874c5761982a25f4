import { useQuery } from '@tanstack/react-query';
import { Eye, EyeOff } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { FormDialog } from '@/components/form-dialog';
import { CheckBox } from '@/components/text-field';
import { count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { HiddenTool } from '@/types/api';
import { hiddenToolsQuery, useHide } from './api';

/** A tool that can be hidden or shown, with the tokens of its definition if they are known. */
interface ListedTool extends HiddenTool {
  tokens?: number;
  /** In 30 days. */
  calls?: number | undefined;
}

const words = {
  unused: (n: number, tokens: string) =>
    `${texts.servers.tools(n)} not called in 30 days, ~${tokens} tokens`,
  hidden: (n: number) => `${texts.servers.tools(n)} hidden from clients`,
};

/**
 * The tools that all clients could do without, and those that are hidden from them. Each button opens
 * a list to select from: one click never changes what clients see.
 */
export function HideTools({ unused, listed }: { unused: ListedTool[]; listed: ListedTool[] }) {
  const { data: hidden = [] } = useQuery(hiddenToolsQuery);
  const [open, setOpen] = useState<'Hide' | 'Show' | 'Select' | undefined>(undefined);
  const tokens = unused.reduce((sum, tool) => sum + (tool.tokens ?? 0), 0);
  if (unused.length === 0 && hidden.length === 0 && listed.length < 2) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-1 text-sm text-ink2">
      {unused.length > 0 && (
        <span className="flex items-center gap-1">
          {words.unused(unused.length, count(tokens))}
          <Button small look="quiet" onClick={() => setOpen('Hide')}>
            <EyeOff className="size-3.5" aria-hidden />
            Hide…
          </Button>
        </span>
      )}
      {hidden.length > 0 && (
        <span className="flex items-center gap-1">
          {words.hidden(hidden.length)}
          <Button small look="quiet" onClick={() => setOpen('Show')}>
            <Eye className="size-3.5" aria-hidden />
            Show…
          </Button>
        </span>
      )}
      {listed.length > 1 && (
        <Button small look="quiet" onClick={() => setOpen('Select')}>
          Select tools…
        </Button>
      )}
      {open && (
        <SelectTools
          action={open === 'Show' ? 'Show' : 'Hide'}
          tools={{ Hide: unused, Show: hidden, Select: listed }[open]}
          none={open === 'Select'}
          onClose={() => setOpen(undefined)}
        />
      )}
    </div>
  );
}

/** A button that shows a hidden tool again. */
export function ShowTool({ tool }: { tool: HiddenTool }) {
  const change = useHide();
  return (
    <Button
      disabled={change.isPending}
      onClick={() =>
        change.mutate({ tools: [{ server: tool.server, tool: tool.tool }], hide: false })
      }
    >
      <Eye className="size-4" aria-hidden />
      Show to clients
    </Button>
  );
}

const keyOf = ({ server, tool }: HiddenTool) => `${server}/${tool}`;

/** The maximum of one request. */
const most = 5000;

/** A list of tools by server to select from, and the button that hides or shows the selected ones. */
function SelectTools({
  action,
  tools,
  none,
  onClose,
}: {
  action: 'Hide' | 'Show';
  tools: ListedTool[];
  /** Whether none is selected at first; these can be tools that are in use. */
  none: boolean;
  onClose: () => void;
}) {
  const labelOf = useServerName();
  const change = useHide();
  const [offered] = useState(tools.slice(0, most));
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set(none ? offered.map(keyOf) : []));
  const chosen = offered.filter((tool) => !left.has(keyOf(tool)));
  const servers = [...new Set(offered.map((tool) => tool.server))];
  const keep = (some: ListedTool[], on: boolean) => {
    const next = new Set(left);
    for (const tool of some) on ? next.delete(keyOf(tool)) : next.add(keyOf(tool));
    setLeft(next);
  };
  return (
    <FormDialog
      long
      className="max-w-xl"
      title={action === 'Hide' ? 'Hide tools from all clients' : 'Show hidden tools to clients'}
      action={`${action} ${texts.servers.tools(chosen.length)} of ${texts.connections.servers(new Set(chosen.map((tool) => tool.server)).size)}`}
      ready={chosen.length > 0}
      pending={change.isPending}
      error={change.error}
      onSubmit={() =>
        change.mutate(
          {
            tools: chosen.map(({ server, tool }) => ({ server, tool })),
            hide: action === 'Hide',
          },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      {action === 'Hide' && !none && (
        <p className="text-sm text-ink2">
          These have not been called in 30 days. Only servers that have been in use for at least
          seven days are listed.
        </p>
      )}
      {servers.length > 1 && (
        <CheckBox
          label="All"
          checked={chosen.length === offered.length}
          onChange={(all) => keep(offered, all)}
        />
      )}
      {servers.map((server) => {
        const own = offered.filter((tool) => tool.server === server);
        const on = own.filter((tool) => !left.has(keyOf(tool)));
        return (
          <div key={server}>
            <CheckBox
              label={escapeControlCharacters(labelOf(server).slice(0, 100))}
              checked={on.length === own.length}
              onChange={(all) => keep(own, all)}
            />
            <details className="pl-6 text-sm" open={servers.length === 1}>
              <summary className="cursor-pointer text-xs text-ink3">
                {texts.servers.tools(own.length, on.length)}
              </summary>
              <ul className="mt-1.5 space-y-1.5">
                {own.map((tool) => (
                  <li key={tool.tool}>
                    <CheckBox
                      label={`${escapeControlCharacters(tool.tool.slice(0, 200))}${tool.calls === 0 ? ' · not called' : ''}`}
                      checked={!left.has(keyOf(tool))}
                      onChange={(one) => keep([tool], one)}
                    />
                  </li>
                ))}
              </ul>
            </details>
          </div>
        );
      })}
    </FormDialog>
  );
}
