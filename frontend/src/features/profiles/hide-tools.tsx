import { useQuery } from '@tanstack/react-query';
import { Eye, EyeOff } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { SearchField } from '@/components/fields';
import { FormDialog } from '@/components/form-dialog';
import { CheckBox } from '@/components/text-field';
import { byName, count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
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
  done: (n: number, hide: boolean) =>
    `${texts.servers.tools(n)} ${hide ? 'hidden from' : 'visible to'} all clients.`,
  hidden: (n: number) => `${texts.servers.tools(n)} hidden from clients`,
};

/**
 * The tools that all clients could do without, and those that are hidden from them. Each button opens
 * a list to select from: one click never changes what clients see.
 */
export function HideTools({ unused, listed }: { unused: ListedTool[]; listed: ListedTool[] }) {
  const { data: hidden = [] } = useQuery(hiddenToolsQuery);
  const [open, setOpen] = useState<'Hide' | 'Select' | undefined>(undefined);
  if (unused.length === 0 && hidden.length === 0 && listed.length < 2) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-1 text-sm text-ink2">
      {unused.length > 0 && (
        <span className="flex items-center gap-1">
          {words.unused(unused.length, count(sumOf(unused)))}
          <Button small look="quiet" onClick={() => setOpen('Hide')}>
            <EyeOff className="size-3.5" aria-hidden />
            Hide…
          </Button>
        </span>
      )}
      {hidden.length > 0 && (
        <span className="flex items-center gap-1">
          {words.hidden(hidden.length)}
          <ShowTools tools={hidden} />
        </span>
      )}
      {listed.length > 1 && (
        <Button small look="quiet" onClick={() => setOpen('Select')}>
          Hide tools…
        </Button>
      )}
      {open && (
        <SelectTools
          action="Hide"
          tools={open === 'Hide' ? unused : listed}
          none={open === 'Select'}
          onClose={() => setOpen(undefined)}
        />
      )}
    </div>
  );
}

/** A button that opens a list of hidden tools to show again. */
export function ShowTools({ tools }: { tools: HiddenTool[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="quiet" onClick={() => setOpen(true)}>
        <Eye className="size-3.5" aria-hidden />
        Show…
      </Button>
      {open && (
        <SelectTools action="Show" tools={tools} none={false} onClose={() => setOpen(false)} />
      )}
    </>
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

const sumOf = (tools: ListedTool[]) => tools.reduce((sum, tool) => sum + (tool.tokens ?? 0), 0);

/** The tokens of tools after a separator, or "" if they are not known. */
const tokensOf = (tools: ListedTool[], separator = ' · ') =>
  sumOf(tools) > 0 ? `${separator}${texts.tools.tokens(count(sumOf(tools)))}` : '';

const keyOf = ({ server, tool }: HiddenTool) => `${server}/${tool}`;

/** The maximum of one request. */
const most = 5000;
/** A longer list has a search. */
const few = 12;

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
  const [q, setQ] = useState('');
  const chosen = offered.filter((tool) => !left.has(keyOf(tool)));
  const typed = q.toLowerCase().split(/\s+/);
  const found = offered
    .filter(({ server, tool }) => {
      const text = `${tool} ${server} ${labelOf(server)}`.toLowerCase();
      return typed.every((word) => text.includes(word));
    })
    .sort(
      (a, b) =>
        byName(labelOf(a.server), labelOf(b.server)) ||
        (b.tokens ?? 0) - (a.tokens ?? 0) ||
        byName(a.tool, b.tool),
    );
  const servers = [...new Set(found.map((tool) => tool.server))];
  const hide = action === 'Hide';
  const keep = (some: ListedTool[], on: boolean) => {
    const next = new Set(left);
    for (const tool of some) on ? next.delete(keyOf(tool)) : next.add(keyOf(tool));
    setLeft(next);
  };
  const submit = () => {
    const picked = chosen.map(({ server, tool }) => ({ server, tool }));
    // The dialog is closed when its change is undone.
    const run = () => change.mutateAsync({ tools: picked, hide: !hide }).catch(toastError);
    const onSuccess = () => {
      toast('ok', words.done(picked.length, hide), { text: texts.care.undo, run });
      onClose();
    };
    change.mutate({ tools: picked, hide }, { onSuccess });
  };
  return (
    <FormDialog
      long
      className="max-w-xl"
      title={hide ? 'Hide tools from all clients' : 'Show hidden tools to clients'}
      action={`${action} ${texts.servers.tools(chosen.length)} of ${texts.connections.servers(new Set(chosen.map((tool) => tool.server)).size)}${tokensOf(chosen, ', ')}`}
      ready={chosen.length > 0}
      pending={change.isPending}
      error={change.error}
      onSubmit={submit}
      onClose={onClose}
    >
      {hide && !none && (
        <p className="text-sm text-ink2">
          These have not been called in 30 days. Only servers that have been in use for at least
          seven days are listed.
        </p>
      )}
      {offered.length > few && (
        <div className="@container flex">
          <SearchField label="Search servers and tools" value={q} onChange={setQ} delayMs={80} />
        </div>
      )}
      {found.length === 0 && <p className="text-sm text-ink2">{texts.tools.noMatch}</p>}
      {servers.length > 1 && (
        <CheckBox
          label={q ? 'All that match' : 'All'}
          checked={found.every((tool) => !left.has(keyOf(tool)))}
          onChange={(all) => keep(found, all)}
        />
      )}
      {servers.map((server) => {
        const own = found.filter((tool) => tool.server === server);
        const on = own.filter((tool) => !left.has(keyOf(tool)));
        return (
          <div key={server}>
            <CheckBox
              label={escapeControlCharacters(labelOf(server).slice(0, 100))}
              checked={on.length === own.length}
              onChange={(all) => keep(own, all)}
            />
            <details className="pl-6 text-sm" open={servers.length === 1 || q !== ''}>
              <summary className="cursor-pointer text-xs text-ink3">
                {`${texts.servers.tools(own.length, on.length)}${tokensOf(own)}`}
              </summary>
              <ul className="mt-1.5 space-y-1.5">
                {own.map((tool) => (
                  <li key={tool.tool}>
                    <CheckBox
                      label={`${escapeControlCharacters(tool.tool.slice(0, 200))}${tokensOf([tool])}${tool.calls === 0 ? ' · not called' : ''}`}
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
