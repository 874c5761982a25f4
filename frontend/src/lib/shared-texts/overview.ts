/** The overview, the first steps and the usage. */
export const overviewTexts = {
  welcome: {
    title: 'Get started',
  },

  usage: {
    title: 'Usage',
  },
} as const;
