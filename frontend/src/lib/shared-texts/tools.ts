/** The tools and the changes of their definitions. */
export const toolsTexts = {
  tools: {
    declared: 'Declared by the server (not verified), or set in the configuration',
    search: 'Search name and description',
    emptyBody: 'The tools that running servers offer to clients appear here.',

    noMatch: 'No tool matches this search.',
    tokens: (n: string) => `~${n} tokens`,
    tokensHint:
      'Estimated size of its definition in a model’s context: characters divided by four; less if the client leaves out output schemas',
  },
  trust: {
    changed:
      'These definitions changed since you trusted them. Clients do not see them until you accept the changes.',

    actions: {
      new: 'is new',
      changed: 'changed and was hidden',
      accepted: 'was accepted',
      blocked: 'was blocked',
      returned: 'matches the trusted version again',
      warned: 'looks suspicious',
    },
  },
} as const;
