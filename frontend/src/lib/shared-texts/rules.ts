/** Argument rules: in Settings, and made from a call. */
export const rulesTexts = {
  rules: {
    thens: { allow: 'Allow', ask: 'Ask', deny: 'Deny' },

    yaml: 'The configuration file is YAML. Edit policy.rules in that file instead.',
    save: 'Save rules',
  },
} as const;
