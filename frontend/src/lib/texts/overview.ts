import { count } from '@/lib/format';

/** The overview, the first steps and the usage. */
export const overviewTexts = {
  overview: {
    title: 'Overview',
    attention: 'Needs attention',
    needYou: (n: number) => (n === 1 ? '1 issue' : `${count(n)} issues`),
    serversUp: (up: number, all: number) => `${count(up)} of ${count(all)}`,
    offered: (n: string) => (n === '1' ? '1 tool' : `${n} tools`),
    p95: (most: string) => `p95 ${most}`,
    processes: (n: number) => (n === 1 ? '1 process' : `${n} processes`),
    orders: { calls: 'Calls', time: 'Time', context: 'Context' },
    allCalls: 'All calls',
    moreServers: (n: number) => `${count(n)} more`,
  },
  changes: {
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

    /** Added to the note on macOS, which asks when a program opens files of another one. */
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
    first: (client: string, tool: string) =>
      `${client || 'A client'} called ${tool}. The call succeeded and was recorded.`,
    firstFailed: (client: string, tool: string) =>
      `${client || 'A client'} called ${tool}. The call failed; the error was recorded.`,
  },
  features: {
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
    errors: 'Errors',
    errorsOf: (n: string) => (n === '1' ? '1 error' : `${n} errors`),
    callsOverTime: 'Calls and errors',
    durationsOverTime: 'Latency',

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
    unusedNote: (n: number, tokens: string) =>
      `${n === 1 ? '1 tool' : `${count(n)} tools`}, ~${tokens} tokens`,
  },
} as const;
