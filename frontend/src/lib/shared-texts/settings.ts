/** The settings, backup and diagnostics. */
export const settingsTexts = {
  settings: {
    position: (line: number, column: number) => `line ${line}, column ${column}`,

    save: 'Save',

    saved: 'Saved and applied.',
    savedForRestart: 'Saved. Restart Drawbridge to apply it.',
  },
} as const;
