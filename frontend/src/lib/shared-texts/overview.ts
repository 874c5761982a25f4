/** The overview, the first steps and the usage. */
export const overviewTexts = {
  overview: {
    p95: (most: string) => `p95 ${most}`,
  },
  welcome: {
    title: 'Get started',
  },

  usage: {
    title: 'Usage',
  },
} as const;
