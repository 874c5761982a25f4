import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import {
  Link2,
  MapPin,
  MessageCircleQuestion,
  ScrollText,
  Search,
  Server,
  SunMoon,
  Unlink2,
  Wrench,
} from 'lucide-react';
import { type RefObject, useEffect, useMemo, useState } from 'react';
import { Modal } from '@/components/modal';
import { connectionsQuery } from '@/features/clients/api';
import { failedAction, serversQuery } from '@/features/servers/api';
import { actionIcons, actionsFor } from '@/features/servers/start-stop-buttons';
import { toolsQuery } from '@/features/tools/api';
import { approvalsQuery } from '@/lib/approvals-query';
import { focusLater } from '@/lib/focus-later';
import { escapeControlCharacters } from '@/lib/format';
import { request } from '@/lib/request';
import { useStored } from '@/lib/stored-preference';
import { texts } from '@/lib/texts';
import { setTheme, themeNames, themes } from '@/lib/theme';
import { toast } from '@/lib/toast';
import { pages } from './navigation-pages';
import { places } from './palette-places';
import { type PaletteCommand, rankCommands } from './palette-ranking';

const words = {
  title: 'Command palette',
  action: 'Action',
  done: {
    start: 'Starting',
    stop: 'Stopped',
    restart: 'Restarting',
    enable: 'Enabled',
    disable: 'Disabled',
  },
};

const shown = 12;

/** The commands that were used last. */
const recentOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : [];

interface Props {
  close: () => void;
  /** What was typed until the palette had the focus. */
  early: RefObject<string>;
}

/** Finds pages, servers and their actions, tools and clients by name, and calls by their text. */
export function Palette(props: Props) {
  return (
    <Modal label={words.title} onClose={props.close} className="max-w-xl">
      <Inside {...props} />
    </Modal>
  );
}

function Inside({ close, early }: Props) {
  const [typed, setTyped] = useState('');
  useEffect(() => setTyped(early.current), [early]); // before the effect of the dialog, which moves the focus
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const commands = useCommands();
  const navigate = useNavigate();
  const [recent, setRecent] = useStored('drawbridge.palette', recentOf);
  const found = useMemo(() => {
    const text = typed.trim();
    if (text === '') {
      const used = recent.flatMap((id) => commands.find((command) => command.id === id) ?? []);
      return [...new Set([...used, ...commands])].slice(0, shown);
    }
    return [
      ...rankCommands(commands, text, shown - 1),
      {
        id: 'search calls',
        text: `Search calls for “${text}”`,
        kind: 'Calls',
        icon: Search,
        run: () => navigate({ to: '/calls', search: { q: text } }),
      },
    ];
  }, [commands, typed, recent, navigate]);
  // The first entry is selected until the user selects another one, also when results are added.
  const [first] = found;
  const selected = found.find((command) => command.id === chosen) ?? first;
  return (
    <Command
      label={words.title}
      shouldFilter={false}
      value={selected?.id ?? ''}
      onValueChange={(id) => setChosen(id === first?.id ? undefined : id)}
      vimBindings={false}
      className="flex min-h-0 flex-col outline-none"
    >
      <div className="flex items-center gap-2 border-b px-4">
        <Search className="size-4 shrink-0 text-ink3" aria-hidden />
        {/* Otherwise the browser would focus the element around it, which accepts no text. */}
        <Command.Input
          data-first
          data-palette
          placeholder="Search pages, servers, tools, calls and actions"
          value={typed}
          onValueChange={(text) => {
            setTyped(text);
            setChosen(undefined);
          }}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-ink3"
        />
      </div>
      <Command.List label="Results" className="scroll-area min-h-0 flex-1 p-1.5">
        {found.map((command) => (
          <Command.Item
            key={command.id}
            value={command.id}
            onSelect={() => {
              close();
              setRecent([command.id, ...recent.filter((id) => id !== command.id)].slice(0, 5));
              command.run();
            }}
            className="flex cursor-pointer items-baseline gap-3 rounded-md px-3 py-2 text-sm aria-selected:bg-accent-soft"
          >
            <command.icon className="size-4 shrink-0 self-center text-ink3" aria-hidden />
            <span className="min-w-0 flex-1 truncate">
              {escapeControlCharacters(command.text.slice(0, 200))}
            </span>
            <span className="shrink-0 text-xs text-ink2">{command.kind}</span>
          </Command.Item>
        ))}
      </Command.List>
    </Command>
  );
}

/** Moves the focus to the place that the user chose, once it is there. */
const focusAt = (at: string) => focusLater(() => document.querySelector<HTMLElement>(at), true);

function useCommands(): PaletteCommand[] {
  const navigate = useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const { data: tools } = useQuery(toolsQuery);
  const { data: approvals } = useQuery(approvalsQuery);
  const { data: connections } = useQuery(connectionsQuery);
  return useMemo(() => {
    const list: PaletteCommand[] = (approvals ?? []).map(({ id, message }) => ({
      id: `approval ${id}`,
      text: `Approve… ${message.split('\n', 1)[0]}`,
      kind: 'Approval',
      icon: MessageCircleQuestion,
      run: () => {
        navigate({ to: '/approvals' });
        focusAt(`[data-item="${CSS.escape(id)}"]`);
      },
    }));
    const clients: PaletteCommand[] = [];
    for (const { key, name, state, detected, connected } of connections ?? []) {
      if (connected)
        clients.push({
          id: `disconnect ${key}`,
          text: `Disconnect ${name}…`,
          kind: words.action,
          icon: Unlink2,
          run: () => navigate({ to: '/clients', search: { disconnect: key } }), // it asks
        });
      const row = `[data-client="${CSS.escape(key)}"]`;
      const connects = detected && state === 'notConnected';
      if (!connects && state === 'notConnected') continue;
      (connects ? list : clients).push({
        id: `${connects ? 'connect' : 'client'} ${key}`,
        text: connects ? `Connect ${name}…` : name,
        kind: connects ? words.action : 'Client',
        icon: Link2,
        run: () => {
          navigate({ to: '/clients', search: connects ? { connect: key } : {} });
          focusAt(connects ? `${row} [data-apply]` : row);
        },
      });
    }
    for (const { to, text, icon } of pages)
      list.push({ id: `page ${to}`, text, kind: 'Page', icon, run: () => navigate({ to }) });
    for (const { text, to, at } of places)
      list.push({
        id: `place ${text}`,
        text,
        kind: 'Page',
        icon: MapPin,
        run: () => {
          navigate({ to });
          focusAt(at);
        },
      });
    for (const server of servers ?? []) {
      const label = server.label || server.id;
      list.push({
        id: `server ${server.id}`,
        text: label,
        kind: 'Server',
        icon: Server,
        run: () => navigate({ to: '/servers/$id', params: { id: server.id } }),
      });
      list.push({
        id: `log ${server.id}`,
        text: `Log of ${label}`,
        kind: 'Server',
        icon: ScrollText,
        run: () =>
          navigate({ to: '/servers/$id', params: { id: server.id }, search: { view: 'log' } }),
      });
      for (const action of actionsFor(server.state)) {
        list.push({
          id: `${action} ${server.id}`,
          text: `${texts.actions[action]} ${label}`,
          kind: words.action,
          icon: actionIcons[action],
          run: () => {
            request('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/${action}`).then(
              () => toast('ok', `${words.done[action]} ${label}.`), // the page may show no servers
              (error: unknown) => toast('bad', failedAction(action, label, error)),
            );
          },
        });
      }
    }
    for (const theme of themes) {
      list.push({
        id: `theme ${theme}`,
        text: `Theme: ${themeNames[theme]}`,
        kind: words.action,
        icon: SunMoon,
        run: () => setTheme(theme),
      });
    }
    for (const tool of tools ?? []) {
      list.push({
        id: `tool ${tool.name}`,
        text: tool.name,
        kind: 'Tool',
        icon: Wrench,
        run: () => navigate({ to: '/tools', search: { tool: tool.name } }),
      });
    }
    return [...list, ...clients];
  }, [navigate, servers, tools, approvals, connections]);
}
