const loaded = (n: string) => (n === '1' ? '1 call loaded' : `${n} calls loaded`);

/** The calls and sessions. */
export const callsTexts = {
  calls: {
    noArguments: 'No arguments were sent.',
    gone: 'It may have expired, or the link is wrong.',
    emptyBody:
      'Calls appear here as soon as a client makes them, and stay in the history. Connect a client, or try a tool yourself.',
    deleted: (n: number) => (n === 1 ? '1 call deleted.' : `${n} calls deleted.`),

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
    unknownClient: 'unknown client',
    progress: (n: number) => (n === 1 ? '1 progress message' : `${n} progress messages`),
    arguments: 'Arguments',
    result: 'Result',
  },
  sessions: {
    title: 'Sessions',
    failed: (n: string) => `${n} failed`,

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
} as const;
