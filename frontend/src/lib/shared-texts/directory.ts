/** The directory of servers that can be installed. */
export const directoryTexts = {
  directory: {
    title: 'Browse servers',
    kinds: {
      npx: 'Node package',
      uvx: 'Python package',
      docker: 'Container',
      dnx: '.NET package',
      address: 'Remote URL',
    } as Record<string, string>,

    openDirectory: 'Browse servers',
  },
} as const;
