import { count } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import type { Outcome, State } from '@/types/api';

/** Sentences and labels that several features show, and tables of words. Others are where they are shown. */
export const texts = withoutPrototypes({
  product: 'Drawbridge',
  actions: {
    connectClient: 'Connect a client',
    start: 'Start',
    stop: 'Stop',
    restart: 'Restart',
    enable: 'Enable',
    disable: 'Disable',
    close: 'Close',
    copy: 'Copy',
    copyFailed: 'The browser did not allow copying.',
    clearFilters: 'Clear filters',
    delete: 'Delete',
    cancel: 'Cancel',
  },
  care: {
    undo: 'Undo',
    typedGone: 'Your input was discarded.',
  },
  lastKnown: 'Last known state',
  /** The words of Go's core.State.Word: a test compares them. */
  states: {
    stopped: 'Stopped',
    starting: 'Starting',
    running: 'Running',
    degraded: 'Degraded',
    waiting: 'Waiting',
    backoff: 'Restarting',
    crashed: 'Failed',
    'needs-login': 'Needs sign-in',
    'needs-approval': 'Needs approval',
    paused: 'Paused',
    disabled: 'Disabled',
  } satisfies Record<State, string>,
  /** The MCP version if known, otherwise the range of versions. */
  mcp: (version: string | undefined, era: string | undefined) =>
    version
      ? `MCP ${version}`
      : era === 'modern'
        ? 'MCP 2026-07-28 or later'
        : era === 'legacy'
          ? 'MCP 2025-11-25 or earlier'
          : (era ?? ''),
  outcomes: {
    '': 'Running',
    ok: 'OK',
    tool_error: 'Tool error',
    protocol_error: 'Protocol error',
    timeout: 'Timeout',
    cancelled: 'Cancelled',
    rejected: 'Rejected',
    /** A protocol error of a call that did not reach its server. */
    unavailable: 'Unavailable',
  } satisfies Record<Outcome | 'unavailable', string>,
  /** The states of a task that are defined, and that of one whose end is unknown, as the outcome of its call. */
  taskStates: {
    working: 'Working',
    input_required: 'Input required',
    completed: 'Completed',
    failed: 'Failed',
    cancelled: 'Cancelled',
    expired: 'Expired',
  },
  more: (n: number) => `${count(n)} more`,
  ranges: {
    '15m': '15 min',
    '1h': '1 hour',
    '24h': '24 hours',
    '7d': '7 days',
    '30d': '30 days',
    own: 'Custom range',
  },
  loading: 'Loading…',
  editor: {
    syntax: (line: number, column: number) => `Not valid JSON: line ${line}, column ${column}.`,
  },
  welcome: {
    title: 'Get started',
  },
  usage: {
    title: 'Usage',
  },
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
  directory: {
    title: 'Browse servers',
    openDirectory: 'Browse servers',
  },
  calls: {
    noArguments: 'No arguments were sent.',
    deleted: (n: number) => (n === 1 ? '1 call deleted.' : `${n} calls deleted.`),
    unknownClient: 'unknown client',
    result: 'Result',
  },
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
  clients: {
    calls: (n: string) => (n === '1' ? '1 call' : `${n} calls`),
    seen: (age: string) => `Last seen ${age} ago`,
  },
  connections: {
    servers: (n: number) => (n === 1 ? '1 server' : `${n} servers`),
  },
  configCopies: {
    title: 'Configuration file',
    copiesTitle: 'Configuration backups',
  },
  approvals: {
    title: 'Approvals',
  },
  settings: {
    position: (line: number, column: number) => `line ${line}, column ${column}`,
    save: 'Save',
    saved: 'Saved and applied.',
    savedForRestart: 'Saved. Restart Drawbridge to apply it.',
  },
} as const);
