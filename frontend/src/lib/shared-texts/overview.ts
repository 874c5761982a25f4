/** The overview, the first steps and the usage. */
export const overviewTexts = {
  overview: {
    p95: (most: string) => `p95 ${most}`,
  },
  welcome: {
    title: 'Get started',
  },

  usage: {
    empty: 'No calls in this period',
    title: 'Usage',
    errorsOf: (n: string) => (n === '1' ? '1 error' : `${n} errors`),
  },
} as const;
