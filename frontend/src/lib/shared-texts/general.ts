import { count } from '@/lib/format';
import type { Outcome, State } from '@/types/api';

/** Names, actions, states and errors that several pages show. */
export const generalTexts = {
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
} as const;
