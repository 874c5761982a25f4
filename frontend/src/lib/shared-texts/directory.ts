/** The directory of servers that can be installed. */
export const directoryTexts = {
  directory: {
    title: 'Browse servers',
    openDirectory: 'Browse servers',
  },
} as const;
