/** What several views of calls and sessions show. */
export const callsTexts = {
  gone: 'It may have expired, or the link is wrong.',
  failed: (n: string) => `${n} failed`,
  progress: (n: number) => (n === 1 ? '1 progress message' : `${n} progress messages`),
  arguments: 'Arguments',
};
