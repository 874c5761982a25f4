import { count } from '@/lib/format';
import type { Outcome, State, Transport } from '@/types/api';

/** Names, actions, states and errors that several pages show. */
export const generalTexts = {
  product: 'Drawbridge',
  nav: {
    label: 'Pages',
    tools: 'Tools',
    settings: 'Settings',
  },
  actions: {
    start: 'Start',
    stop: 'Stop',
    restart: 'Restart',
    enable: 'Enable',
    disable: 'Disable',
    more: (what: string) => `More actions for ${what}`,
    close: 'Close',
    back: 'Back',
    toList: 'Back to the list',
    copy: 'Copy',
    copied: 'Copied',
    copyFailed: 'The browser did not allow copying.',
    retry: 'Try again',
    retryNow: 'Try now',
    clear: 'Clear',
    clearFilters: 'Clear filters',
    showMore: 'Show more',
    loadOlder: 'Loading older calls…',
    dismiss: 'Dismiss',
    delete: 'Delete',
    cancel: 'Cancel',
    keep: 'Cancel',
  },
  care: {
    undo: 'Undo',
    typedGone: 'Your input was discarded.',
    draftRestored: 'Restored your draft',

    lessTitle: 'Delete older calls?',
    less: (n: string, all: string) =>
      `${n} of ${all} calls ${n === '1' ? 'exceeds' : 'exceed'} these limits and will be permanently deleted within a minute. To keep them, back up the history first.`,

    lessAction: 'Save and delete',

    disconnectTitle: (client: string) => `Disconnect ${client}?`,
    disconnectBody: (path: string) =>
      `Removes the Drawbridge entry from ${path}. If the file has not changed since you connected, the original will be restored, including servers that were moved to Drawbridge.`,
    forgetTitle: (client: string) => `Stop tracking ${client}?`,
    forgetBody: (path: string) =>
      `${path} will not be changed, but Drawbridge will no longer be able to restore the original. Backups of the file stay in the data folder.`,
  },
  connection: {
    connecting: 'Connecting',
    live: 'Live',
    reconnecting: 'Reconnecting',
    locked: 'Locked',
    lostTitle: 'Drawbridge is not responding',
    lost: (seconds: number) =>
      seconds > 0
        ? `Showing the last known state. Retrying in ${seconds} s.`
        : 'Showing the last known state. Retrying…',
  },
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
  transports: {
    stdio: 'Local process',
    docker: 'Docker',
    http: 'HTTP',
    sse: 'SSE',
    replay: 'Replay',
  } satisfies Record<Transport, string>,
  /** A call that did not reach its server. */
  outcomes: {
    '': 'Running',
    ok: 'OK',
    tool_error: 'Tool error',
    protocol_error: 'Protocol error',
    timeout: 'Timeout',
    cancelled: 'Cancelled',
    rejected: 'Rejected',
  } satisfies Record<Outcome, string>,
  /** The states of a task that are defined, and that of one whose end is unknown, as the outcome of its call. */
  taskStates: {
    working: 'Working',
    input_required: 'Input required',
    completed: 'Completed',
    failed: 'Failed',
    cancelled: 'Cancelled',
    expired: 'Expired',
  },
  recordFull: {
    more: (n: number) =>
      n === 1 ? 'One other recording is active.' : `${n} other recordings are active.`,
  },
  problems: {
    more: (n: number) => `${count(n)} more`,
    less: 'Show less',
    otherShort: (n: number) => (n === 1 ? '1 notice' : `${count(n)} notices`),
    dropped: (n: number) =>
      n === 1
        ? 'One call was not recorded because the disk was too slow.'
        : `${count(n)} calls were not recorded because the disk was too slow.`,
  },
  ranges: {
    '15m': '15 min',
    '1h': '1 hour',
    '24h': '24 hours',
    '7d': '7 days',
    '30d': '30 days',
    own: 'Custom range',
  },
  json: {
    pretty: 'Formatted',
    raw: 'Raw',
    cutText: (n: string) => `${n} more characters`,
    view: 'JSON view',
    yaml: 'YAML',
  },
  errors: {
    notFound: 'Page not found',
  },
  loading: 'Loading…',
  shortcuts: {
    palette: 'Search (command palette)',
  },
  editor: {
    /** Keys are the phrases that CodeMirror uses. */
    phrases: { Completions: 'Suggestions', '$ unchanged lines': '$ unchanged lines' },

    syntax: (line: number, column: number) => `Not valid JSON: line ${line}, column ${column}.`,

    wrong: {
      unknown: (path: string, near: string) =>
        `Unknown key “${path}”; it is ignored.${near ? ` Did you mean “${near}”?` : ''}`,
      type: (path: string, wanted: string) =>
        `${path ? `“${path}”` : 'The value'} must be of type ${wanted}.`,
      choice: (path: string, wanted: string) => `“${path}” must be one of: ${wanted}.`,
      range: (path: string, wanted: string) => `“${path}” must be ${wanted}.`,
    },
  },
} as const;
