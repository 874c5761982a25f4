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
    emptyBody:
      'Connect an AI application. It then gets the tools of all your servers through one entry.',
    anonymous: 'Unnamed',
    sessions: (n: string) => (n === '1' ? '1 open session' : `${n} open sessions`),
    calls: (n: string) => (n === '1' ? '1 call' : `${n} calls`),
    token: (name: string) => `Token ${name}`,
    noToken: 'No token',
    seen: (age: string) => `Last seen ${age} ago`,
    neverSeen: 'Never used',
    connect: 'Manual setup',
    connectBody: 'One entry gives a client access to all servers.',
    other: 'By URL',
    stdio: 'By command',
    otherBody: 'For a client that supports streamable HTTP: use this URL and a token.',
    stdioBody: 'For a client that only supports stdio: add this entry to its configuration.',
    address: 'URL',
    tokenFrom: 'Create a token in',
    tokenOr: ', or with',
    header: 'Header',
    entry: 'Entry',
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
    nameHint: 'Letters, digits, “-” and “_”: it becomes part of the URL.',
    nameBad: 'Use at most 32 letters, digits, “-” and “_”.',
    nameTaken: 'A profile with this name already exists.',
    description: 'Description',
    folders: 'Folders',
    foldersHint:
      'One absolute path per line. Clients that work in or below one of them use this profile, unless they have another one.',
    mode: 'Tool listing',
    listing: (mode: string) => `tool listing: ${mode}`,
    modes: {
      all: 'All',
      search: 'Search',
      deferred: 'Deferred',
    },
    modeNotes: {
      all: 'Every tool with its full definition.',
      search: 'Only find_tools and call_tool, through which all tools can be found and called.',
      deferred: 'Names and one-line descriptions; schemas on request.',
    },
    accounts: 'Accounts',
    accountsHint:
      'If none is chosen, the client’s folder determines the account; otherwise, “default” is used.',
    accountOf: (server: string) => `${server} account`,
    accountOfClient: (server: string, token: string) => `${server} account for ${token}`,
    accountUnset: 'Not chosen',
    before: (tokens: string) =>
      `All tools of all servers take ~${tokens} tokens of each model’s context.`,
    after: (tokens: string, saved: string) => `This profile takes ~${tokens} tokens${saved}.`,
    saves: (tokens: string) => ` and saves ~${tokens}`,
    savesNone: ' and saves none',
    needsName: 'Enter a name first.',
    nothingChosen: 'Select servers and tools below to see how many tokens they take.',
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
    entry: 'Client entry',
    clients: 'Clients assigned to this profile',
    clientsNone: 'No clients yet. Connect one on the Clients page first.',
    clientsFirst: 'Save the profile, then select its clients.',
    remove: 'Delete profile',
    removeTitle: (name: string) => `Delete profile ${name}?`,
    removeBody: 'Its URL stops working. Servers and tools are not removed.',
    removeBound: (n: number, names: string) =>
      n === 1
        ? `Client ${names} uses this profile. Choose another profile for it first.`
        : `These clients use this profile. Choose another profile for them first: ${names}.`,
    removed: (name: string) => `Profile ${name} deleted.`,
    profile: 'Profile',
    profileOf: (token: string) => `Profile of ${token}`,
    modeOf: (token: string) => `Tool listing for ${token}`,
    noProfile: 'No profile',
    modeUnset: 'Profile default',
    results: 'Results',
    resultsOf: (token: string) => `Results for ${token}`,
    resultsWhole: 'Complete',
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
        `${count(n)} of ${tools(all)} were called here in ${days} days.`,
      saves: (tokens: string) => `A profile of these tools saves ~${tokens} tokens per session.`,
      make: 'Create profile',
      dismiss: (folder: string) => `Dismiss the suggestion for ${folder}`,
      made: (name: string, folder: string) =>
        `Clients that work in ${folder} now use the profile ${name}.`,
      dismissed: (folder: string) => `No profile is suggested for ${folder} anymore.`,
    },
  },
  connections: {
    live: (n: number) => `Working, ${tools(n)} visible`,
    moves: 'Servers to move',
    nothingToMove: 'This client has no servers of its own.',
    have: 'already added',
    same: (clients: string) => `also in ${clients}`,
    secrets: (names: string) => `Kept in the secret store: ${names}`,
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
    connected: (client: string, reload: string) =>
      reload ? `${client} connected. ${reload}` : `${client} connected.`,
    done: {
      undo: (client: string) => `${client} disconnected. Its configuration was restored.`,
      restore: (client: string) => `Entry of ${client} restored.`,
      forget: (client: string) => `${client} is no longer tracked.`,
    },
  },
  newToken: {
    name: 'Client name',
    make: 'Create token',
    once: 'Copy the token now. Later, only “drawbridge token NAME” shows it.',
    token: (name: string) => `Token of ${name}`,
  },
  configCopies: {
    hide: 'Hide',
    copiesTitle: 'Configuration backups',
    copiesBody:
      'The last 20 backups are kept. One is created before each import and restore. In a terminal:',
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
    copyText: 'Backup with secrets masked',
    copyDiff: 'Changes if restored',
    putBack: 'Restore',
    putBackTitle: (when: string) => `Restore the backup of ${when}?`,
    putBackBody:
      'The current configuration is backed up first. Servers are started, stopped and changed accordingly.',
    isBack: 'Backup restored.',
  },
} as const;
