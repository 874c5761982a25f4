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
    title: 'Servers',

    tools: (n: number, visible = n) =>
      `${visible < n ? `${new Intl.NumberFormat('en').format(visible)} of ` : ''}${n === 1 ? '1 tool' : `${new Intl.NumberFormat('en').format(n)} tools`}`,
    withheld: withheldText,
    stateFor: (age: string) => `for ${age}`,
    pid: (pid: number) => `PID ${pid}`,
    protocol: 'Protocol',

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
    command: 'Command',
    tree: 'Processes',
    log: 'Log',
    viewNames: {
      about: 'About',
      tools: 'Tools',
      calls: 'Calls',
      log: 'Log',
      config: 'Configuration',
      processes: 'Processes',
      debug: 'Debug',
    },
    sandbox: {
      title: 'Sandbox',
      modes: { off: 'Off.', on: 'On.' },
      about: {
        off: 'The server can access everything that you can.',
        on: 'Allowed in addition to the default rules:',
      },
      ports: (list: string) => `TCP to ${list.includes(',') ? 'ports' : 'port'} ${list}; all UDP`,
    },
    openLog: 'Open log',
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
      add: 'Add',
      remove: (name: string) => `Remove ${name}`,
      storeSecret: 'Store as secret',
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
      unset: 'Default',
      startupTimeoutMs: 'Start timeout (seconds)',
      requestTimeoutMs: 'Call timeout (seconds)',
      more: 'All other options can be edited as text.',
      unsound: 'The text is not valid JSON. Fix it first.',
      saved: (label: string) => `Configuration of ${label} saved.`,
      discard: 'Discard changes',
      effect: 'Saving restarts the server if necessary.',
      conflict: 'The entry was changed elsewhere. Discard your changes to load the new version.',
    },
    accounts: {
      rename: 'Rename',

      renameElsewhere: {
        profiles: (name: string) =>
          `Profile ${name}, which is in another file, uses this account. Choose another account there first.`,
        clients: (name: string) =>
          `Client ${name}, which is in another file, uses this account. Choose another account there first.`,
      },
    },
    remedy: {
      setKey: (name: string) => `Set ${name}…`,

      titles: {
        'install-program': (product: string) => `${product} is not installed`,
        'install-package': (name: string) => `The package ${name} is not installed`,
        'start-docker': () => 'Docker is not running',
        'allow-docker': () => 'Your user account is not allowed to use Docker',
        'start-container': (name: string) => `The container ${name} is not running`,
        'unlock-secrets': () => 'The keyring that stores the secrets is locked',
      },
      how: {
        'install-package': 'Run this command in a terminal, in the server’s folder:',
        'allow-docker': 'Run this command in a terminal, then log out and log back in:',
      },
    },
    logLevels: {
      debug: 'All',
      stderr: 'Output',
      lifecycle: 'Events',
      warn: 'Warnings',
      error: 'Errors',
    },
    serve: {
      periods: ['All', 'Last hour', 'Last 24 hours', 'Last 7 days', 'Custom…'],
      missesOptions: {
        strict: 'Fail',
        nearest: 'Return the most similar result',
        passthrough: 'Forward to the real server',
      },
    },
    edit: {
      rename: 'Rename',
      tags: 'Tags',
    },
    more: {
      elsewhere:
        'This server is defined in another file, so it cannot be shown or changed here. Edit that file; Settings lists the files.',
    },
    tooling: {
      offer: (tool: string) => `Show ${tool} to clients`,

      approvals: {
        unset: 'Approval: default',
        never: 'Never ask',
        ask: 'Always ask',
        destructive: 'Ask if destructive',
        deny: 'Always deny',
      },
      requireApproval: (client: string, tool: string) =>
        `Require approval again when ${client} calls ${tool}`,
      timeoutOf: (s: number) => (s < 60 ? `Timeout: ${s} s` : `Timeout: ${s / 60} min`),
      records: {
        unset: 'Record: default',
        full: 'Record: everything',
        meta: 'Record: metadata only',
        off: 'Record: nothing',
      },
      hiddenBy: {
        enabled: 'Hidden here',
        includeTools: 'Not in includeTools',
        excludeTools: 'Excluded by excludeTools',
        toolChanges: 'Hidden: changed, or blocked by you',
      },

      declared: (value: boolean | null) =>
        value === null ? 'Not declared' : `Declared: ${value ? 'yes' : 'no'}`,

      hints: {
        readOnlyHint: 'Read-only',
        destructiveHint: 'Destructive (may delete or overwrite)',
        idempotentHint: 'Can be repeated without further effect',
        openWorldHint: 'External access (interacts with external systems)',
      },
    },
    debug: {
      sessions: {
        shared: 'One for all clients',
        perClient: 'One for each client',
        perSession: 'One for each session',
        perRoot: 'One for each folder',
        perCall: 'One for each call',
      } as Record<string, string>,
    },
    failedAction: (action: string, label: string, message: string) =>
      `Cannot ${action} ${label}: ${message}`,
  },
  add: {
    title: 'Add a server',
    button: 'Add server',
    name: 'Name',
    taken: 'A server with this name already exists.',
    badName: 'Use only the letters a to z, digits, “.”, “_” and “-”, without spaces.',
    program: 'Program and arguments, one per line',
    address: 'URL',
    folder: 'Working folder',
    environment: 'Environment',
    headers: 'Headers',
    include: (name: string) => `Add ${name}`,
    added: (names: string) => `Added ${names}.`,
  },
  test: {
    stages: {
      configuration: 'Invalid configuration:',
      start: 'Failed to start:',
      connect: 'Failed to connect:',
      done: '',
    },
  },
  signIn: {
    start: 'Sign in',

    done: 'Signed in',
  },
  versions: {
    short: shortVersion,
    sources: {
      '': '',
      configuration: 'Pinned in the configuration',
      process: 'Read from the running process',
      cache: 'Read from the package cache',
      server: 'Reported by the server',
      container: 'Read from the running container',
      image: 'Read from the local image',
    },
    pin: (to: string) => `Pin to ${versionOf(to)}`,
    back: (to: string) => `Roll back to ${versionOf(to)}`,
  },
  /** Calls that were sent to the current and to another version of a server. */
  comparison: {
    definitions: {
      server: 'Instructions and capabilities',
      prompts: 'List of prompts',
      resources: 'List of resources',
      resourceTemplates: 'List of resource templates',
    },
    counts: {
      alike: (n: number) => `${n} the same`,
      different: (n: number) => `${n} different`,
      failed: (n: number) => `${n} failed`,
      slower: (n: number) => `${n} slower`,
      skipped: (n: number) => `${n} skipped`,
    },
    results: {
      alike: 'Same',
      different: 'Different',
      failed: 'Failed',
      slower: 'Slower',
      skipped: 'Skipped',
    },
  },
} as const;
