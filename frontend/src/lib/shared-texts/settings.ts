/** The settings, backup and diagnostics. */
export const settingsTexts = {
  settings: {
    noProblems: 'The configuration has no problems.',
    notHere: 'This cannot be set here. Edit the configuration file.',
    themes: { system: 'System', light: 'Light', dark: 'Dark' },

    position: (line: number, column: number) => `line ${line}, column ${column}`,

    save: 'Save',

    saved: 'Saved and applied.',
    savedForRestart: 'Saved. Restart Drawbridge to apply it.',
  },
} as const;
