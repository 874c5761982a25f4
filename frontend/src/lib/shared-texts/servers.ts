/** The servers: list, form, import, sign-in, versions. */
export const serversTexts = {
  servers: {
    title: 'Servers',

    tools: (n: number, visible = n) =>
      `${visible < n ? `${new Intl.NumberFormat('en').format(visible)} of ` : ''}${n === 1 ? '1 tool' : `${new Intl.NumberFormat('en').format(n)} tools`}`,
    ago: (age: string) => `${age} ago`,
    config: {
      entry: 'Entry in the configuration file',
      starts: {
        auto: 'With Drawbridge',
        onDemand: 'On first call',
        manual: 'Manually',
      },
      approvals: {
        never: 'Never ask',
        ask: 'Always ask',
        destructive: 'Ask if destructive',
        deny: 'Always deny',
      },
      /** A test compares them with the schema. */
      defaults: {
        start: 'Default (with Drawbridge)',
        approval: 'Default (never ask)',
        sandbox: 'Default (off)',
        network: 'Default (any)',
        unixSockets: 'Default (as Network)',
        startupTimeoutMs: 'Default (120)',
        requestTimeoutMs: 'As in Settings',
        timeout: 'Default (30)',
      },
      requestTimeoutMs: 'Call timeout (seconds)',
    },
    remedy: {
      setKey: (name: string) => `Set ${name}…`,
    },
  },
  add: {
    nameLength: 'Use at most 32 characters.',
    name: 'Use only the letters a to z, digits, “-” and “_”, without spaces.',
    taken: 'A server with this name already exists.',
    button: 'Add server',
  },
} as const;
