import { count } from '@/lib/format';
import { serversTexts } from './servers';

/** "1 tool", "2,000 tools" */
const tools = (n: number) => serversTexts.servers.tools(n);

/** The clients, profiles, connections and backups of the configuration. */
export const clientsTexts = {
  clients: {
    title: 'Clients',
    sessions: (n: string) => (n === '1' ? '1 open session' : `${n} open sessions`),
    calls: (n: string) => (n === '1' ? '1 call' : `${n} calls`),
    seen: (age: string) => `Last seen ${age} ago`,
    entry: 'Configuration entry',
  },
  profiles: {
    title: 'Profiles',
    make: 'New profile',
    of: (n: number, servers: number | undefined) =>
      `${tools(n)} · ${servers === undefined ? 'all servers' : servers === 1 ? '1 server' : `${servers} servers`}`,

    modes: {
      all: 'All',
      search: 'Search',
      deferred: 'Deferred',
      auto: 'Automatic',
    },
    modeNotes: {
      all: 'Every tool with its full definition.',
      search: 'Only find_tools and call_tool for each entry, which find and call its tools.',
      deferred: 'Names and one-line descriptions; schemas on request.',
      auto: 'One of these for each client: all if it searches tools by itself or the list is short.',
    },
    autoIs: (mode: 'all' | 'search' | 'deferred', why: string) =>
      `Now ${mode === 'all' ? 'all tools' : `by ${mode === 'search' ? 'search' : 'deferred listing'}`}: ${why}`,
    accountOf: (server: string) => `${server} account`,
    tools: 'Servers and tools',
    chosen: (on: number, all: number) => `${count(on)} of ${tools(all)}`,
    all: 'All',
    none: 'None',
    removeFrom: (n: number) =>
      `Delete, ${n === 1 ? '1 client loses it' : `${count(n)} clients lose it`}`,
    lost: (names: string) =>
      `Used by ${names}. Without a profile, all tools that the entries offer can be used.`,
    takeOut: (n: number, tokens: string | undefined) =>
      `Remove ${n === 1 ? '1 unused tool' : `${count(n)} unused tools`}${tokens ? ` (saves ~${tokens} tokens)` : ''}`,
    takenOut: (n: number) => `${tools(n)} removed; save to apply.`,
  },
  connections: {
    live: (n: number) => `Working, ${tools(n)} visible`,
    liveUnlisted: 'Working',
    moves: 'Servers to move',
    servers: (n: number) => (n === 1 ? '1 server' : `${n} servers`),
    nothingToMove: 'This client has no servers of its own.',
    have: 'already added',
    same: (clients: string) => `also in ${clients}`,
    secrets: (names: string) => `Stored as secrets: ${names}`,
    connectedIdle: (client: string) => `Set up, restart ${client}`,
    notUsed: 'Set up, not used yet',
    byHand: 'Connected without this file',
    leaving: (client: string) => `Disconnected, in use until ${client} restarts`,
    states: {
      notConnected: 'Not set up',
      connected: 'Connected',
      vanished: 'Entry missing',
      changed: 'Entry changed',
      unreadable: 'Configuration unreadable',
    },
    mend: 'Fix the file, then reload this page.',
    connect: 'Connect…',
    restore: 'Restore entry',
    forget: 'Stop tracking',
    undo: 'Disconnect',
    move: 'Move its servers to Drawbridge',
    http: 'Use HTTP instead of a command',
    diff: (client: string) => `Changes to the configuration of ${client}`,
    write: (moved: number) =>
      moved > 0 ? `Apply, move ${moved === 1 ? '1 server' : `${moved} servers`}` : 'Apply',
    outsideTitle: (files: number) =>
      files === 1
        ? 'Change a file outside your home folder?'
        : `Change ${files} files outside your home folder?`,
    outsideBody: 'The configuration of the client is a link. This changes:',
    connected: (client: string, reload: string) =>
      reload ? `${client} connected. ${reload}` : `${client} connected.`,
    done: {
      undo: (client: string) => `${client} disconnected. Its configuration was restored.`,
      removed: (client: string) =>
        `${client} disconnected. Only the Drawbridge entries were removed from its file.`,
      restore: (client: string) => `${client} entry restored.`,
      forget: (client: string) => `${client} is no longer tracked.`,
    },
  },
  configCopies: {
    title: 'Configuration file',
    copiesTitle: 'Configuration backups',
  },
} as const;
