/** What several views of calls and sessions, and the overview, show. */
export const callsTexts = {
  emptyBody:
    'Calls appear here as soon as a client makes them, and stay in the history. Connect a client, or try a tool yourself.',
  gone: 'It may have expired, or the link is wrong.',
  failed: (n: string) => `${n} failed`,
  progress: (n: number) => (n === 1 ? '1 progress message' : `${n} progress messages`),
  arguments: 'Arguments',
};
