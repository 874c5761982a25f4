/** The calls and sessions. */
export const callsTexts = {
  calls: {
    noArguments: 'No arguments were sent.',
    deleted: (n: number) => (n === 1 ? '1 call deleted.' : `${n} calls deleted.`),
    unknownClient: 'unknown client',
    result: 'Result',
  },
} as const;
