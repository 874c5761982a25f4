/** The calls and sessions. */
export const callsTexts = {
  calls: {
    noArguments: 'No arguments were sent.',
    emptyBody:
      'Calls appear here as soon as a client makes them, and stay in the history. Connect a client, or try a tool yourself.',
    deleted: (n: number) => (n === 1 ? '1 call deleted.' : `${n} calls deleted.`),
    unknownClient: 'unknown client',
    result: 'Result',
  },
} as const;
