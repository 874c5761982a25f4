const loaded = (n: string) => (n === '1' ? '1 call loaded' : `${n} calls loaded`);

/** The calls and sessions. */
export const callsTexts = {
  calls: {
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
