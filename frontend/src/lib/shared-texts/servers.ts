/** A short form of the version; a digest is abbreviated. */
const shortVersion = (v: string) =>
  /^\d/.test(v) ? `v${v}` : v.replace(/sha256:([0-9a-f]{12})[0-9a-f]{52}/, 'sha256:$1');

/** The version of a package or an image, whose name is shown beside it. */
const versionOf = (to: string) => shortVersion(/(?:@|==)([^@/=]+)$/.exec(to)?.[1] ?? to);

const withheldText = (n: number) =>
  `${n === 1 ? '1 changed definition' : `${n} changed definitions`} withheld from clients`;

/** The servers: list, form, import, sign-in, versions. */
export const serversTexts = {
  servers: {
    elsewhere:
      'This server is defined in another file, so it cannot be shown or changed here. Edit that file; Settings lists the files.',
    title: 'Servers',

    tools: (n: number, visible = n) =>
      `${visible < n ? `${new Intl.NumberFormat('en').format(visible)} of ` : ''}${n === 1 ? '1 tool' : `${new Intl.NumberFormat('en').format(n)} tools`}`,
    withheld: withheldText,
    stateFor: (age: string) => `for ${age}`,
    pid: (pid: number) => `PID ${pid}`,

    offered: (tools: string, prompts: number, resources: number, withheld: number) =>
      [
        tools,
        prompts > 0 && `${prompts} ${prompts === 1 ? 'prompt' : 'prompts'}`,
        resources > 0 && `${resources} ${resources === 1 ? 'resource' : 'resources'}`,
        withheld > 0 && withheldText(withheld),
      ]
        .filter(Boolean)
        .join(', '),

    ago: (age: string) => `${age} ago`,
    config: {
      as: 'Show as',
      form: 'Form',
      text: 'Text',
      copy: 'Copy entry',
      entry: 'Entry in the configuration file',
      reveal: 'Reveal secrets and edit',
      container: 'Container',
      args: 'Arguments',
      argsHint: 'One per line.',
      addVariable: 'New variable',
      addHeader: 'New header',
      start: 'Start mode',
      starts: {
        auto: 'With Drawbridge',
        onDemand: 'On first call',
        manual: 'Manually',
      },
      approval: 'Call approval',
      sandboxes: { off: 'Off', on: 'On' },
      network: 'Network',
      unixSockets: 'Unix sockets',
      allOrNone: { any: 'Any', none: 'None' },
      sandboxPaths: { read: 'Additional readable paths', write: 'Additional writable paths' },
      sandboxPathsHint: 'One path per line: absolute, or with ~/ at the beginning.',
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
      startupTimeoutMs: 'Start timeout (seconds)',
      requestTimeoutMs: 'Call timeout (seconds)',
      more: 'All other options can be edited as text.',
      unsound: 'The text is not valid JSON. Fix it first.',
      saved: (label: string) => `Configuration of ${label} saved.`,
      discard: 'Discard changes',
      effect: 'Saving restarts the server if necessary.',
      conflict: 'The entry was changed elsewhere. Discard your changes to load the new version.',
    },
    remedy: {
      setKey: (name: string) => `Set ${name}…`,
    },

    failedAction: (action: string, label: string, message: string) =>
      `Cannot ${action} ${label}: ${message}`,
  },
  add: {
    nameLength: 'Use at most 32 characters.',
    name: 'Use only the letters a to z, digits, “-” and “_”, without spaces.',
    serverName: 'Use only the letters a to z, digits, “.”, “_” and “-”, without spaces.',
    serverNameLength: 'Use at most 60 characters.',
    serverNameGap: 'Use a single “_”: “__” separates a server from its tools.',
    taken: 'A server with this name already exists.',
    button: 'Add server',
    include: (name: string) => `Add ${name}`,
    added: (names: string) => `Added ${names}.`,
  },

  signIn: {
    start: 'Sign in',

    done: 'Signed in',
  },
  versions: {
    short: shortVersion,
    of: versionOf,

    pin: (to: string) => `Pin to ${versionOf(to)}`,
    back: (to: string) => `Roll back to ${versionOf(to)}`,
  },
} as const;
