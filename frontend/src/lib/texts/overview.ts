import { count } from '@/lib/format';

/** The overview, the first steps and the usage. */
export const overviewTexts = {
  overview: {
    title: 'Overview',
    attention: 'Needs attention',
    allWell: 'No issues',
    lastKnown: 'Last known state',
    needYou: (n: number) => (n === 1 ? '1 issue' : `${count(n)} issues`),
    serversUp: (up: number, all: number) => `${count(up)} of ${count(all)} running`,
    offered: (n: string) => (n === '1' ? '1 tool' : `${n} tools`),
    calls: 'Calls',
    running: (n: number) => `${n} running now`,
    failed: 'Failed calls',
    failedShare: (share: string) => `${share} of calls`,
    median: 'Median latency',
    p95: (most: string) => `p95 ${most}`,
    memory: 'Server memory',
    processes: (n: number) => (n === 1 ? '1 process' : `${n} processes`),
    online: 'Clients online',
    ofKnown: (n: number) => `of ${n} known`,
    clients: 'Clients',
    allClients: 'All clients',
    noClients: 'No client has made a call yet.',
    connect: 'Connect a client',
    recent: 'Live calls',
    latency: 'Latency',
    tops: 'Top tools',
    topsBy: 'Top tools by',
    orders: { calls: 'Calls', time: 'Time', context: 'Context' },
    nothingYet: 'No calls yet.',
    strip: (n: number) => `The last ${n} calls, oldest first; bar height shows duration`,
    allCalls: 'All calls',
    allServers: 'All servers',
    moreServers: (n: number) => `${count(n)} more`,
  },
  changes: {
    title: 'What changed this week',
    more: (n: number) => `${count(n)} more`,
    less: 'Show less',
    kinds: {
      server: () => 'New server',
      version: () => 'New version',
      command: () => 'New command',
      tool: (name: string) => `New tool: ${name}`,
      definition: (name: string, action: string) => `Definition of ${name} ${action}`,
      warning: (name: string) => `Warning about ${name}`,
      destination: (name: string) => `New destination: ${name}`,
    } satisfies Record<string, (name: string, action: string) => string>,
  },
  welcome: {
    title: 'Get started',
    note: 'No file is changed until you have reviewed the change.',
    /** Added to the note on macOS, which asks when a program opens files of another one. */
    macPermission:
      'macOS may ask you to let Drawbridge access data from other apps, because Drawbridge reads the configuration files of your AI clients.',
    progress: 'Steps',
    isDone: 'done:',
    done: 'Go to the overview',
    addManually: 'Add a server manually',
    steps: {
      servers: {
        title: 'Add your servers',
        body: 'Drawbridge will run the servers that your clients currently use, and the clients will connect to them through Drawbridge.',
      },
      clients: {
        title: 'Connect your clients',
        body: 'Clients whose servers you moved are already connected. Connect the others here.',
      },
      call: {
        title: 'Make your first call',
        body: 'Restart the client if prompted, then ask it to do something that uses a tool.',
      },
    },
    /** The first step where no client was found. */
    nothingFound: {
      title: 'Add your first server',
      body: 'No clients with servers to import were found. Add a server here, or choose one under Browse servers.',
    },
    /** The second step where no client was found. */
    noneFound: {
      title: 'Connect your clients',
      body: 'No supported client was found. Connect one as described below.',
    },
    waiting: 'Waiting for the first call…',
    orTry: 'Or make a call yourself:',
    first: (client: string, tool: string) =>
      `${client || 'A client'} called ${tool}. The call succeeded and was recorded.`,
    firstFailed: (client: string, tool: string) =>
      `${client || 'A client'} called ${tool}. The call failed; the error was recorded.`,
    noClient: 'No client is connected yet.',
    nothingToCall: 'No tools to call yet. Add a server in step 1.',
    updates: 'Check for new versions of Drawbridge?',
    updatesBody:
      'Once a day, Drawbridge reads a small signed file that names the newest version. No update is downloaded, and nothing about you or this computer is sent.',
    updatesOn: 'Check daily',
    updatesOff: 'Do not check',
    updatesSaved: (check: boolean) =>
      check ? 'New versions will be announced here.' : 'New versions will not be announced.',
    updatesUnreadable:
      'The configuration file cannot be read. Fix it under Settings, then answer again.',
    changed: 'Changed files',
    changedConfig: (servers: number) =>
      `Drawbridge’s configuration, with ${servers === 1 ? '1 server' : `${servers} servers`}.`,
    changedClient: (client: string) =>
      `The configuration of ${client}, which now points to Drawbridge.`,
    changedUndo:
      'To undo this for one client, use Disconnect above or on the Clients page. It restores the original file if the current one has not changed since you connected; otherwise, it only undoes Drawbridge’s own changes. To disconnect all clients, run:',
    undoCommand: 'Command that disconnects all clients',
  },
  features: {
    title: 'Feature support',
    table: 'Features by server',
    client: 'Client',
    feature: 'Feature',
    none: 'No servers yet.',
    how: {
      passes: 'supported',
      'with approval': 'with approval',
      'not client': 'not supported by client',
      'not server': 'not supported by server',
    },
  },
  usage: {
    title: 'Usage',
    emptyTitle: 'No calls in this period',
    emptyBody: 'Choose a longer period.',
    look30: 'Show 30 days',
    emptyNever: 'Calls are counted here as soon as a client makes them.',
    calls: 'Calls',
    errors: 'Errors',
    errorsOf: (n: string) => (n === '1' ? '1 error' : `${n} errors`),
    good: 'Succeeded',
    median: 'Median',
    half: 'Median (p50)',
    p50: (most: string) => `Median ${most}`,
    most: 'p95',
    nearlyAll: 'p99',
    callsOverTime: 'Calls and errors',
    durationsOverTime: 'Latency',
    versionBegan: (what: string) => `First call to ${what}`,
    breakdown: 'Breakdown',
    table: 'Breakdown by name',
    by: 'Group by',
    kinds: { servers: 'Servers', tools: 'Tools', clients: 'Clients' },
    columns: {
      calls: 'Calls',
      errors: 'Errors',
      p50Ns: 'Median',
      p95Ns: 'p95',
      p99Ns: 'p99',
      resultTokens: 'Result tokens',
      repeatedBytes: 'Repeated',
      blankBytes: 'Whitespace',
      lastUsed: 'Last used',
    },
    columnHints: {
      calls: undefined,
      errors: undefined,
      p50Ns: undefined,
      p95Ns: undefined,
      p99Ns: undefined,
      resultTokens: 'Estimated as the size of the results in bytes, divided by four.',
      repeatedBytes: 'Share of result bytes that repeat structuredContent as text.',
      blankBytes:
        'Share of result bytes taken up by whitespace: indentation in JSON and repeated spaces in text.',
      lastUsed: undefined,
    },
    context: 'Context cost',
    contextBody:
      'Tool definitions take up part of each model’s context. Estimated as characters divided by four.',
    unused: 'Not used in the last 30 days',
    unusedNote: (n: number, tokens: string) =>
      `${n === 1 ? '1 tool' : `${count(n)} tools`}, ~${tokens} tokens`,
    unusedBody: 'These tools take up context but have not been called. Hide those you do not need.',
    unusedNone: 'All tools were used in the last 30 days.',
  },
} as const;
