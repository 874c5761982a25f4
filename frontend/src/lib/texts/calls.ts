const loaded = (n: string) => (n === '1' ? '1 call loaded' : `${n} calls loaded`);

/** The calls, sessions and checks. */
export const callsTexts = {
  calls: {
    title: 'Calls',
    one: 'Call',
    filters: 'Filters',
    removeFilter: 'Remove this filter',
    failedOnly: 'Failed',
    server: 'Server',
    timeRange: 'Time',
    from: 'From',
    to: 'To',
    slowerThan: { '100': '> 0.1 s', '1000': '> 1 s', '10000': '> 10 s' },
    chips: {
      q: (q: string) => `“${q}”`,
      client: (name: string) => `Client: ${name}`,
      workspace: (path: string) => `Folder: ${path}`,
      account: (name: string) => `Account: ${name}`,
      version: (version: string) => `Version: ${version}`,
      tag: (tag: string) => `Tag: ${tag}`,
      slow: (ms: number) => `Longer than ${ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}`,
    },
    indexedUpTo: (at: string, pending: string) =>
      `Search covers calls up to ${at}; ${pending === '1' ? '1 newer call is' : `${pending} newer calls are`} not indexed yet.`,

    deleted: (n: number) => (n === 1 ? '1 call deleted.' : `${n} calls deleted.`),
    task: {
      methods: {
        'tools/call': 'Created',
        'tasks/get': 'Status',
        'tasks/update': 'Input sent',
        'tasks/cancel': 'Cancellation requested',
        'tasks/result': 'Result fetched',
        'notifications/tasks': 'Notification',
        'notifications/tasks/status': 'Notification',
      },
    },
    toolFilter: (tool: string) => `Tool: ${tool}`,
    columns: {
      time: 'Time',
      call: 'Call',
      client: 'Client',
      session: 'Session',
      folder: 'Folder',
      outcome: 'Outcome',
      duration: 'Duration',
      sent: 'Sent',
      size: 'Received',
    },
    sortedBy: {
      oldest: (n: string) => `Oldest first, ${loaded(n)}.`,
      longest: (n: string) => `Longest first, ${loaded(n)}.`,
      shortest: (n: string) => `Shortest first, ${loaded(n)}.`,
      largest: (n: string) => `Largest results first, ${loaded(n)}.`,
      smallest: (n: string) => `Smallest results first, ${loaded(n)}.`,
    },
    emptyTitle: 'No calls yet',
    emptyBody:
      'Calls appear here as soon as a client makes them, and stay in the history. Connect a client, or try a tool yourself.',
    connectClient: 'Connect a client',
    tryTool: 'Try a tool',
    unknownClient: 'unknown client',
    progressLabel: 'Progress',
    progress: (n: number) => (n === 1 ? '1 progress message' : `${n} progress messages`),
    arguments: 'Arguments',
    result: 'Result',

    structured: 'Structured content',

    noArguments: 'No arguments were sent.',
    goneBody: 'It may have expired, or the link is wrong.',
    fromServer: 'Server to client',

    comparedVersions: (before: string, after: string) =>
      before === after
        ? `Both were handled by ${before}.`
        : `The other call was handled by ${before}, this one by ${after}.`,
  },
  sessions: {
    title: 'Sessions',
    one: 'Session',
    failed: (n: string) => `${n} failed`,

    waterfall: {
      title: 'Waterfall',
      asked: 'Waited for approval',
    },
    approvals: {
      once: 'Allowed once',
      minutes: 'Allowed for 10 minutes',
      session: 'Allowed for the session',
      always: 'Always allowed',
      denied: 'Denied',
      expired: 'Expired',
      nobody: 'No approver available',
    } as Record<string, string>,
  },
  checks: {
    title: 'Checks',

    auto: {
      '': 'If all its tools are read-only',
      on: 'Yes',
      off: 'No',
    },
    autoShort: {
      '': 'runs automatically if all its tools are read-only',
      on: 'runs automatically after each change',
      off: 'never runs automatically',
    },

    openCall: 'Open call',
    moreChanges: (n: string) => (n === '1' ? '1 more difference.' : `${n} more differences.`),
    whole: 'entire result',
    save: 'Save as check',

    answeredBy: (version: string, recorded: string) =>
      !recorded || recorded === version
        ? `Handled by ${version}`
        : `Handled by ${version}, recorded with ${recorded}`,
  },
  explain: {
    results: {
      pass: 'passes',
      refuse: 'rejects',
      ask: 'asks for approval',
      wait: 'waits',
      off: 'not configured',
    },
  },
} as const;
