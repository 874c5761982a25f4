import { count } from '@/lib/format';
import type { Outcome, State, Transport } from '@/types/api';

/** Names, actions, states and errors that several pages show. */
export const generalTexts = {
  product: 'Drawbridge',
  toasts: 'Notifications',
  nav: {
    label: 'Pages',
    skip: 'Skip to content',
    overview: 'Overview',
    servers: 'Servers',
    calls: 'Calls',
    tools: 'Tools',
    clients: 'Clients',
    settings: 'Settings',
    find: 'Search',
    more: 'More',
    views: 'Views',
    failed: (n: number) => (n === 1 ? '1 server has failed' : `${n} servers have failed`),
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
  /** Messages about actions that can be undone, and confirmations for those that cannot. */
  leave: {
    title: 'Leave without saving?',
    body: 'Your changes have not been saved. If you leave, they will be lost.',
    stay: 'Keep editing',
    leave: 'Leave',
  },
  care: {
    undo: 'Undo',
    typedGone: 'Your input was discarded.',
    draftRestored: 'Restored your draft',
    draftDiscard: 'Discard',
    signOutTitle: (server: string) => `Sign out of ${server}?`,
    signOutBody: (issuer: string) =>
      `Its tokens will be deleted and revoked at ${issuer}. Its tools will fail until you sign in again.`,
    overTitle: 'Overwrite changes made elsewhere?',
    overBody:
      'The file changed while you were editing it. Lines marked − will be removed; lines marked + are yours.',
    overSame: 'Both versions have the same lines; only the order or whitespace differs.',
    overAction: 'Overwrite',
    overDone: 'Saved; the other changes were overwritten.',
    lessTitle: 'Delete older calls?',
    less: (n: string, all: string) =>
      `${n} of ${all} calls ${n === '1' ? 'exceeds' : 'exceed'} these limits and will be permanently deleted within a minute. To keep them, back up the history first.`,
    lessUnknown: (why: string) =>
      `The new limits may permanently delete older calls. Cannot count them: ${why}`,
    about: (n: string) => `About ${n}`,
    span: (from: string, to: string) => `They started between ${from} and ${to}.`,
    lessAction: 'Save and delete',
    pruneNone: 'No calls have expired.',
    prune: (n: string) =>
      `${n} calls will be permanently deleted. To keep them, back up the history first.`,
    pruneOne: '1 call will be permanently deleted. To keep it, back up the history first.',
    checkBack: (name: string) => `${name} restored.`,
    disconnectTitle: (client: string) => `Disconnect ${client}?`,
    disconnectBody: (path: string) =>
      `Removes the Drawbridge entry from ${path}. If the file has not changed since you connected, the original will be restored, including servers that were moved to Drawbridge.`,
    takeBackTitle: 'Undo this import?',
    takeBackBody: (servers: string, client: string) =>
      `These servers will be stopped and removed from the configuration, together with their imported secrets: ${servers}. The configuration of ${client} will not change, so you can import them again.`,
    forgetTitle: (client: string) => `Stop tracking ${client}?`,
    forgetBody: (path: string) =>
      `${path} will not be changed, but Drawbridge will no longer be able to restore the original. Backups of the file stay in the data folder.`,
    grantsTitle: 'Revoke these approvals?',
    grantsBody: (n: number) =>
      n === 1
        ? 'You will be asked again on the next call:'
        : `You will be asked again the next time each of these ${n} tools is called:`,
    ruleGone: (name: string) => `Rule for ${name} removed.`,
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
  locked: {
    title: 'This browser is not signed in',
    body: 'Drawbridge can run commands on this computer, so this page opens only with a one-time link. Get a new link in one of two ways:',
    tray: 'From the tray icon: choose Open.',
    cli: 'In a terminal, run',
    command: 'drawbridge open',
    ended: 'The session has ended.',
    spent: 'This link has expired or was already used. Each link works once.',
    waiting: 'This page continues as soon as you open the link in this browser.',
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
  outcomeUnavailable: 'Unavailable',
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
    title: 'Record in full',
    hint: 'Payloads of up to 8 MiB',
    minutes: (n: number) =>
      n < 60 ? `For ${n} minutes` : n === 60 ? 'For an hour' : `For ${n / 60} hours`,
    serverHour: 'Record in full for an hour',
    session: (id: string) => `session ${id.slice(0, 8)}`,
    banner: (what: string, until: string) =>
      `Arguments and results of ${what} are recorded in full until ${until}.`,
    more: (n: number) =>
      n === 1 ? 'One other recording is active.' : `${n} other recordings are active.`,
    stop: 'Stop',
  },
  problems: {
    title: (n: number) =>
      n === 1 ? 'One problem in the configuration' : `${n} problems in the configuration`,
    short: (n: number) => (n === 1 ? 'Configuration: 1 problem' : `Configuration: ${n} problems`),
    warnings: (n: number) =>
      n === 1 ? 'One warning about the configuration' : `${n} warnings about the configuration`,
    paused: 'All servers are paused: calls are refused until you resume them.',
    resume: 'Resume',
    show: 'Show',
    more: (n: number) => `${count(n)} more`,
    less: 'Show less',
    otherShort: (n: number) => (n === 1 ? '1 notice' : `${count(n)} notices`),
    otherNotices: (n: number) => (n === 1 ? '1 other notice' : `${n} other notices`),
    tokensOff: 'Tokens are disabled: any program on this computer can call your tools.',
    recorder: (state: string) => `Calls are not being recorded (${state}).`,
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
  chart: {
    hint: 'Use the left and right arrow keys to read the values.',
    table: 'Show as table',
    tableOf: (chart: string) => `Table: ${chart}`,
    time: 'Time',
    events: 'Events',
  },
  form: {
    optional: 'optional',
    notSet: 'Not set',
    yes: 'true',
    no: 'false',
    notNumber: 'This is not a number; it is sent as text.',
    notWhole: 'A whole number is expected.',
    notJson: 'This is not valid JSON; it is sent as text.',
    item: (n: number) => `Item ${n}`,
    addItem: 'Add item',
    removeItem: (n: number) => `Remove item ${n}`,
  },
  json: {
    pretty: 'Formatted',
    raw: 'Raw',
    cutText: (n: string) => `${n} more characters`,
    view: 'JSON view',
    yaml: 'YAML',
  },
  errors: {
    unreachable: 'Drawbridge is not responding.',
    unexpected: 'Something went wrong on this page.',
    part: 'Cannot load part of this page.',
    reload: 'Reload',
    status: (status: number) => `Drawbridge responded with status ${status}.`,
    pageTitle: 'Cannot show this page',
    notFound: 'Page not found',
    notFoundBody: 'The link may be outdated.',
    home: 'Go to the overview',
  },
  loading: 'Loading…',
  palette: {
    title: 'Command palette',
    placeholder: 'Search pages, servers, tools and actions',
    results: 'Results',
    nothing: 'No matching pages, servers, tools or actions.',
    theme: (name: string) => `Theme: ${name}`,
    kinds: { page: 'Page', server: 'Server', tool: 'Tool', action: 'Action' },
  },
  shortcuts: {
    title: 'Keyboard shortcuts',
    palette: 'Search (command palette)',
    help: 'Show keyboard shortcuts',
    after: 'then',
    search: 'Focus the search field',
    move: 'Select the next or previous row',
    open: 'Open the selected row',
    close: 'Close details',
    run: 'Run tool',
    save: 'Save the configuration',
    go: (page: string) => `Go to ${page}`,
  },
  pick: {
    file: 'Choose a file…',
    folder: 'Choose a folder…',
    open: 'Choose in the Drawbridge window…',
  },
  editor: {
    /** Keys are the phrases that CodeMirror uses. */
    phrases: { Completions: 'Suggestions', '$ unchanged lines': '$ unchanged lines' },
    line: (line: number) => `Line ${line}`,
    syntax: (line: number, column: number) => `Not valid JSON: line ${line}, column ${column}.`,
    hint: 'Press Ctrl+Space for suggestions.',
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
