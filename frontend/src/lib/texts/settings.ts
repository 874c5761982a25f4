/** The settings, backup and diagnostics. */
export const settingsTexts = {
  settings: {
    title: 'Settings',

    themes: { system: 'System', light: 'Light', dark: 'Dark' },

    densities: { comfortable: 'Comfortable', compact: 'Compact' },

    noProblems: 'The configuration has no problems.',

    position: (line: number, column: number) => `line ${line}, column ${column}`,

    save: 'Save',

    saved: 'Saved and applied.',

    version: 'Version',

    notHere: 'This cannot be set here. Edit the configuration file.',
    history: {
      indexPending: (n: string) =>
        `${n === '1' ? '1 newer call' : `${n} newer calls`} not yet searchable`,

      keeping: { full: 'Everything', meta: 'Metadata only', off: 'Nothing' },
    },
  },
} as const;
