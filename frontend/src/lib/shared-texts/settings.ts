/** The settings, backup and diagnostics. */
export const settingsTexts = {
  settings: {
    title: 'Settings',

    themes: { system: 'System', light: 'Light', dark: 'Dark' },

    noProblems: 'The configuration has no problems.',

    position: (line: number, column: number) => `line ${line}, column ${column}`,

    save: 'Save',

    saved: 'Saved and applied.',

    version: 'Version',

    notHere: 'This cannot be set here. Edit the configuration file.',
  },
} as const;
