/** Argument rules: in Settings, and made from a call. */
export const rulesTexts = {
  rules: {
    thens: { allow: 'Allow', ask: 'Ask', deny: 'Deny' },
    and: ' and ',
    or: ' or ',
    tests: {
      under: 'is in',
      notUnder: 'is not in',
      glob: 'matches the pattern',
      matches: 'matches the regular expression',
      host: 'has the host',
      min: 'is at least',
      max: 'is at most',
      minBytes: 'has a byte size of at least',
      maxBytes: 'has a byte size of at most',
    },
    yaml: 'The configuration file is YAML. Edit policy.rules in that file instead.',
    save: 'Save rules',
    would: { ask: 'would have needed approval', deny: 'would have been denied' },
  },
} as const;
