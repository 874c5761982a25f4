import { count } from '@/lib/format';
import { serversTexts } from './servers';

/** "1 tool", "2,000 tools" */
const tools = (n: number) => serversTexts.servers.tools(n);

/** The clients, profiles, connections and backups of the configuration. */
export const clientsTexts = {
  clients: {
    title: 'Clients',
    all: 'All clients',
    emptyTitle: 'No client has made a call yet',
    emptyBody: 'Connect an AI application to give it access to the tools on all your servers.',
    anonymous: 'Unnamed',
    sessions: (n: string) => (n === '1' ? '1 open session' : `${n} open sessions`),
    calls: (n: string) => (n === '1' ? '1 call' : `${n} calls`),
    token: (name: string) => `Token ${name}`,
    noToken: 'No token',
    seen: (age: string) => `Last seen ${age} ago`,
    neverSeen: 'Never seen',
    connect: 'Manual setup',
    connectBody: 'One configuration entry gives a client access to all servers.',
    other: 'Connect by URL',
    stdio: 'Connect by command',
    otherBody: 'For a client that supports streamable HTTP: use this URL and a token.',
    stdioBody: 'For a client that only supports stdio: add this entry to its configuration.',
    address: 'URL',
    tokenFrom: 'Create a token in',
    tokenOr: ', or with',
    header: 'Header',
    entry: 'Configuration entry',
  },
  profiles: {
    title: 'Profiles',
    count: (n: number) => (n === 1 ? '1 profile' : `${n} profiles`),
    emptyTitle: 'No profiles yet',
    emptyBody:
      'A profile is a named set of servers and tools with its own URL. A client that is assigned to it cannot list or call anything else.',
    make: 'New profile',
    everything: 'No profile',
    everythingNote: 'A client that has no profile sees everything.',
    of: (n: number, servers: number | undefined) =>
      `${tools(n)} · ${servers === undefined ? 'all servers' : servers === 1 ? '1 server' : `${servers} servers`}`,
    usedBy: (n: number) => (n === 1 ? '1 client' : `${n} clients`),
    gone: 'This profile does not exist',
    goneBody: 'It may have been removed from the configuration.',
    name: 'Name',
    nameHint: 'Use only letters, digits, “-” and “_”, because the name becomes part of the URL.',
    nameBad: 'Use only the letters a to z, digits, “-” and “_”, without spaces.',
    nameLong: 'Use at most 32 characters.',
    nameTaken: 'A profile with this name already exists.',
    description: 'Description',
    folders: 'Folders',
    foldersHint:
      'One absolute path per line. Clients that work in or below one of them use this profile, unless they are assigned another profile.',
    mode: 'Tool listing',
    listing: (mode: string) => `tool listing: ${mode}`,
    modes: {
      all: 'All',
      search: 'Search',
      deferred: 'Deferred',
    },
    modeNotes: {
      all: 'Every tool with its full definition.',
      search: 'Only find_tools and call_tool, which find and call all other tools.',
      deferred: 'Names and one-line descriptions; schemas on request.',
    },
    accounts: 'Accounts',
    accountsHint:
      'If none is selected, the client’s folder determines the account. If no account matches the folder, “default” is used.',
    accountOf: (server: string) => `${server} account`,
    accountOfClient: (server: string, token: string) => `${server} account for ${token}`,
    accountUnset: 'Not set',
    before: (tokens: string) =>
      `Together, the tools from all servers use ~${tokens} tokens of each model’s context.`,
    after: (tokens: string, saved: string) => `This profile uses ~${tokens} tokens${saved}.`,
    saves: (tokens: string) => ` and saves ~${tokens}`,
    savesNone: ' and saves nothing',
    needsName: 'Enter a name first.',
    nothingChosen: 'Select servers and tools below to see how many tokens they use.',
    tools: 'Servers and tools',
    chosen: (on: number, all: number) => `${count(on)} of ${tools(all)}`,
    everyServer: 'All servers, including future ones',
    search: 'Search servers and tools',
    all: 'All',
    none: 'None',
    noMatch: 'Nothing matches this search.',
    noTools: 'Tools not known yet',
    unknownServer: 'Not configured',
    save: 'Save profile',
    saved: (name: string) => `Profile ${name} saved.`,
    discard: 'Discard changes',
    changed:
      'This profile was changed in the configuration file. Your changes are kept until you reload it.',
    removedMeanwhile: 'This profile was removed from the configuration file.',
    reload: 'Reload',
    use: 'Use this profile',
    address: 'URL',
    entry: 'Configuration entry',
    clients: 'Clients assigned to this profile',
    clientsNone: 'No clients yet. Connect one on the Clients page first.',
    clientsFirst: 'Save the profile, then select its clients.',
    remove: 'Delete profile',
    removeTitle: (name: string) => `Delete profile ${name}?`,
    removeBody: 'Its URL will stop working. Servers and tools will not be removed.',
    removeBound: (n: number, names: string) =>
      n === 1
        ? `Client ${names} uses this profile. Choose another profile for it first.`
        : `These clients use this profile. Choose another profile for them first: ${names}.`,
    removed: (name: string) => `Profile ${name} deleted.`,
    profile: 'Profile',
    profileOf: (token: string) => `Profile for ${token}`,
    modeOf: (token: string) => `Tool listing for ${token}`,
    noProfile: 'No profile',
    modeUnset: 'Profile default',
    results: 'Result limit',
    resultsOf: (token: string) => `Result limit for ${token}`,
    resultsWhole: 'No limit',
    resultLimit: (tokens: string) => `First ${tokens} tokens`,
    unused: (n: number, tokens: string) =>
      `${tools(n)} ${n === 1 ? 'has' : 'have'} not been called in 30 days: ~${tokens} tokens.`,
    unusedYet: (n: number, tokens: string) =>
      `${tools(n)} ${n === 1 ? 'has' : 'have'} never been called: ~${tokens} tokens.`,
    recordedFor: (days: number) =>
      days < 1
        ? 'Less than one day recorded so far.'
        : `Only ${days === 1 ? 'one day' : `${days} days`} recorded so far.`,
    hide: (n: number, tokens: string) =>
      `Hide ${n === 1 ? 'it' : tools(n)} (saves ~${tokens} tokens)`,
    takeOut: (n: number, tokens: string | undefined) =>
      `Remove ${n === 1 ? '1 unused tool' : `${count(n)} unused tools`}${tokens ? ` (saves ~${tokens} tokens)` : ''}`,
    hidden: (n: number, tokens: string) => `${tools(n)} hidden, saving ~${tokens} tokens.`,
    takenOut: (n: number) => `${tools(n)} removed; save to apply.`,
    undo: 'Undo',
    suggestions: {
      title: 'Suggested profiles',
      body: 'Based on the tools that clients called while working in a folder.',
      use: (n: number, all: number, days: number) =>
        `${count(n)} of ${tools(all)} ${n === 1 ? 'was' : 'were'} called here in the last ${days === 1 ? 'day' : `${days} days`}.`,
      saves: (tokens: string) =>
        `A profile with only these tools would save ~${tokens} tokens per session.`,
      make: 'Create profile',
      dismiss: (folder: string) => `Dismiss the suggestion for ${folder}`,
      made: (name: string, folder: string) =>
        `Clients that work in ${folder} now use the profile ${name}.`,
      dismissed: (folder: string) => `Suggestion for ${folder} dismissed.`,
    },
  },
  connections: {
    live: (n: number) => `Working, ${tools(n)} visible`,
    moves: 'Servers to move',
    nothingToMove: 'This client has no servers of its own.',
    have: 'already added',
    same: (clients: string) => `also in ${clients}`,
    secrets: (names: string) => `Stored as secrets: ${names}`,
    states: {
      notConnected: 'Not connected',
      connected: 'Connected',
      connectedIdle: 'Configured, waiting for a session',
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
    write: 'Apply',
    outsideTitle: (files: number) =>
      files === 1
        ? 'Change a file outside your home folder?'
        : `Change ${files} files outside your home folder?`,
    outsideBody: 'The configuration of the client is a link. This changes:',
    connected: (client: string, reload: string) =>
      reload ? `${client} connected. ${reload}` : `${client} connected.`,
    done: {
      undo: (client: string) => `${client} disconnected. Its configuration was restored.`,
      restore: (client: string) => `${client} entry restored.`,
      forget: (client: string) => `${client} is no longer tracked.`,
    },
  },
  newToken: {
    name: 'Client name',
    make: 'Create token',
    once: 'Copy the token now. To show it again later, run “drawbridge token NAME”.',
    token: (name: string) => `Token for ${name}`,
  },
  configCopies: {
    hide: 'Hide',
    copiesTitle: 'Configuration backups',
    copiesBody:
      'The last 20 backups are kept. One is created before each import and restore. To create one in a terminal, run:',
    command: 'drawbridge backup',
    keep: 'Create backup',
    kept: 'Backup created.',
    noCopies: 'No backups yet.',
    current: 'current',
    copyLook: 'View',
    copyLookAt: (when: string) => `View the backup of ${when}`,
    copyHide: (when: string) => `Hide the backup of ${when}`,
    same: 'Identical to the current file.',
    broken: 'This backup has errors and cannot be restored:',
    copyText: 'Show backup (secrets redacted)',
    copyLabel: 'Backup (secrets redacted)',
    copyDiff: 'Changes if restored',
    putBack: 'Restore',
    putBackTitle: (when: string) => `Restore the backup of ${when}?`,
    putBackBody:
      'The current configuration will be backed up first. Servers will be started, stopped or restarted as needed.',
    isBack: 'Backup restored.',
  },
} as const;
