import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import { Modal } from '@/components/modal';
import { serversQuery } from '@/features/servers/api';
import { actionsFor } from '@/features/servers/server-actions';
import { toolsQuery } from '@/features/tools/api';
import { classes } from '@/lib/classes';
import { plain } from '@/lib/format';
import { messageOf, request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { setTheme, type Theme } from '@/lib/theme';
import { toast } from '@/lib/toast';
import { pages } from './places';
import { best, type Command } from './rank';

const t = texts.palette;
const shown = 12;

/** Everything by name: pages, servers and what can be done with them, tools. */
export function Palette({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  if (!open) return null;
  const close = () => onOpenChange(false);
  return (
    <Modal label={t.title} onClose={close} className="max-w-xl">
      <Inside close={close} />
    </Modal>
  );
}

function Inside({ close }: { close: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const commands = useCommands();
  const found = useMemo(() => best(commands, typed, shown), [commands, typed]);
  const list = useRef<HTMLDivElement>(null);
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const move = (to: number) => {
    const next = Math.max(0, Math.min(found.length - 1, to));
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <>
      <div className="flex items-center gap-2 border-b px-4">
        <Search className="size-4 shrink-0 text-ink3" aria-hidden />
        <input
          role="combobox"
          aria-expanded
          aria-controls="palette-list"
          aria-activedescendant={found[at] ? `palette-${at}` : undefined}
          aria-label={t.title}
          placeholder={t.placeholder}
          value={typed}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') move(at + 1);
            else if (event.key === 'ArrowUp') move(at - 1);
            else if (event.key === 'Enter' && !event.nativeEvent.isComposing) run(found[at]);
            else return;
            event.preventDefault();
          }}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-ink3"
        />
      </div>
      <div
        ref={list}
        id="palette-list"
        role="listbox"
        aria-label={t.results}
        className="scroll-area min-h-0 flex-1 p-1.5"
      >
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box above takes the keys
          <div
            key={command.id}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onMouseMove={() => setAt(index)}
            onClick={() => run(command)}
            className={classes(
              'flex cursor-pointer items-baseline gap-3 rounded-md px-3 py-2 text-sm',
              index === at && 'bg-accent-soft',
            )}
          >
            <span className="min-w-0 flex-1 truncate">{plain(command.text.slice(0, 200))}</span>
            <span className="shrink-0 text-xs text-ink2">{command.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="px-4 pb-4 text-sm text-ink2">{t.nothing}</p>}
    </>
  );
}

function useCommands(): Command[] {
  const navigate = useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const { data: tools } = useQuery(toolsQuery);
  return useMemo(() => {
    const list: Command[] = pages.map(({ to, text }) => ({
      id: `page ${to}`,
      text,
      kind: t.kinds.page,
      run: () => navigate({ to }),
    }));
    for (const server of servers ?? []) {
      const label = server.label || server.id;
      list.push({
        id: `server ${server.id}`,
        text: label,
        kind: t.kinds.server,
        run: () => navigate({ to: '/servers/$id', params: { id: server.id } }),
      });
      for (const action of actionsFor(server.state)) {
        list.push({
          id: `${action} ${server.id}`,
          text: `${texts.actions[action]} ${label}`,
          kind: t.kinds.action,
          run: () => {
            request('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/${action}`).catch(
              (error: unknown) =>
                toast('bad', texts.servers.failedAction(action, label, messageOf(error))),
            );
          },
        });
      }
    }
    for (const theme of ['system', 'light', 'dark'] satisfies Theme[]) {
      list.push({
        id: `theme ${theme}`,
        text: t.theme(texts.settings.themes[theme]),
        kind: t.kinds.action,
        run: () => setTheme(theme),
      });
    }
    for (const tool of tools ?? []) {
      list.push({
        id: `tool ${tool.name}`,
        text: tool.name,
        kind: t.kinds.tool,
        run: () => navigate({ to: '/tools', search: { tool: tool.name } }),
      });
    }
    return list;
  }, [navigate, servers, tools]);
}
