// Generated from backend/api/testdata/openapi.json by npm run types. Do not edit.

export interface About {
  /**
   * As claimed by the bundle
   */
  author: string;
  /**
   * Total unpacked size
   */
  bytes: number;
  /**
   * Command line that would run, with values to be entered in angle brackets
   */
  command: string[];
  description: string;
  files: number;
  /**
   * Folder into which it would be unpacked
   */
  folder: string;
  name: string;
  /**
   * First digits of the file's hash
   */
  sha256: string;
  title: string;
  type: 'node' | 'python' | 'uv' | 'binary';
  /**
   * Whether it is already unpacked
   */
  unpacked: boolean;
  /**
   * Names of the environment variables that the bundle sets
   */
  variables: string[];
  version: string;
}
export interface Access {
  /**
   * Existing files and folders that it may not read
   */
  unreadable: string[];
  /**
   * Files and folders that it may write, other than devices
   */
  write: string[];
}
export interface AccountUse {
  account: string;
  /**
   * Names of access tokens
   */
  clients: string[];
  profiles: string[];
  /**
   * Id of the server
   */
  server: string;
}
export interface AddInputBody {
  /**
   * The server's JSON object, as in the configuration file
   */
  entry: {
    [k: string]: unknown;
  };
  /**
   * Name in the configuration
   */
  name: string;
}
export interface AnswerToolInputBody {
  /**
   * always also accepts all later changes; ask undoes always and block
   */
  action: 'accept' | 'always' | 'block' | 'ask';
  /**
   * newHash of the reviewed change; if it has changed since, the response is a conflict
   */
  hash?: string;
  /**
   * Default: tool
   */
  kind?: 'tool' | 'instructions' | 'prompt' | 'resource' | 'template';
  /**
   * Server id or name
   */
  server: string;
  /**
   * The server's own name for the tool or prompt, or a URI
   */
  tool?: string;
}
export interface Approval {
  /**
   * JSON text: the argument rule that asks
   */
  argumentRule?: string;
  /**
   * JSON text, truncated in lists and events if long; calls only
   */
  arguments?: string;
  /**
   * Whether arguments is truncated: GET /api/v1/approvals/{id} returns all of it
   */
  argumentsCut?: boolean;
  /**
   * Size of the complete arguments in bytes
   */
  argumentsSize?: number;
  at: string;
  /**
   * Call id; calls only
   */
  callId?: string;
  client: ApprovalClient;
  command?: NewCommand;
  /**
   * Effect that the server declares for the tool; calls only
   */
  effect?: 'read-only' | 'destructive' | 'unknown';
  /**
   * 0001-01-01T00:00:00Z for a command, because it does not expire
   */
  expires: string;
  /**
   * Effect of the call on files, as computed from its arguments
   */
  files?: FileChange[] | null;
  id: string;
  kind: 'form' | 'url' | 'command' | 'call' | 'tools' | 'package';
  /**
   * Text of the question; for a command: the command, then its variables and its folder, one per line
   */
  message: string;
  /**
   * The server's own name for the tool; calls only
   */
  original?: string;
  preview?: Preview;
  /**
   * Why the approval was withdrawn
   */
  reason?: string;
  /**
   * Rule that requires approval; calls only
   */
  rule?: string;
  /**
   * JSON text: schema of the form, an object with flat properties
   */
  schema?: string;
  /**
   * Identifies what the approval shows, for the answer; calls only
   */
  seen?: string;
  /**
   * Server id
   */
  server: string;
  /**
   * Whether the call belongs to a session, so that it can be accepted for that session; calls only
   */
  session?: boolean;
  /**
   * Empty while pending
   */
  state: '' | 'accept' | 'decline' | 'cancel' | 'expired' | 'withdrawn';
  /**
   * The effect of the call in one sentence; empty if unknown
   */
  summary?: string;
  /**
   * Public name of the called tool or prompt; may be empty
   */
  tool: string;
  url?: string;
  /**
   * What is deceptive in names or arguments
   */
  warnings?: string[] | null;
}
export interface ApprovalClient {
  name: string;
  token: string;
  version: string;
}
export interface NewCommand {
  /**
   * Command line as in the configuration
   */
  commandLine: string;
  cwd: string;
  /**
   * Names of the environment variables, with the values of those that select programs and libraries
   */
  environment: string[];
  /**
   * Previous command line; empty if unknown
   */
  previous: string;
  /**
   * What it could do that its approved sandbox denies, such as: write to ~/notes
   */
  sandbox: string[];
}
export interface FileChange {
  /**
   * Number of added lines
   */
  added: number;
  /**
   * Unified diff
   */
  diff?: string;
  /**
   * Why there is no diff, or what is special about the file
   */
  note?: string;
  /**
   * With links resolved
   */
  path: string;
  /**
   * Number of removed lines
   */
  removed: number;
}
export interface Preview {
  /**
   * Boolean argument that is set to true
   */
  argument: string;
  /**
   * When the run ended
   */
  at: string;
  /**
   * The run in the history
   */
  callId?: string;
  /**
   * Whether a run is known to change nothing: by a trial, by the user or by the configuration
   */
  checked: boolean;
  /**
   * Why there is no preview, or why it is not shown any more
   */
  problem?: string;
  /**
   * ignored: a run has made the change, so that the tool is not previewed any more
   */
  state: 'offered' | 'running' | 'done' | 'failed' | 'ignored';
  /**
   * What the tool returned
   */
  text?: string;
}
export interface ApprovalInputBody {
  action: 'accept' | 'decline' | 'cancel';
  /**
   * Values of the form, a JSON object; required to accept a form
   */
  content?: {
    [k: string]: unknown;
  };
  /**
   * How long calls to the tool are accepted; default: once. 'session' is allowed only if the field session of the approval is true. always is written to the configuration
   */
  scope?: 'once' | 'minutes' | 'session' | 'always';
  /**
   * The field seen of the approval as it was shown. If the approval shows something else now, accept is refused with the code conflict. Without it, a call is accepted whatever its preview shows
   */
  seen?: string;
  /**
   * Calls only: accept further calls only if their arguments match this condition, as where in a rule of policy.rules; it must match this call
   */
  where?: {
    [k: string]: unknown;
  };
}
export interface BackupFile {
  path: string;
}
export interface BackupInputBody {
  /**
   * Absolute path of a file that does not exist yet
   */
  path: string;
}
export interface BreakerStatus {
  account?: string;
  failures: number;
  reason: string;
  retryAt: string;
  server: string;
  state: string;
}
export interface Call {
  /**
   * Account of the server that the call used; missing if the server has no accounts
   */
  account?: string;
  /**
   * Decision of the user; empty if no approval was required
   */
  approval: '' | 'once' | 'minutes' | 'session' | 'always' | 'denied' | 'expired' | 'nobody';
  at: string;
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  /**
   * Answered from the cache, without calling the server
   */
  cached: boolean;
  /**
   * Name that the application reports
   */
  client: string;
  clientVersion: string;
  code: string;
  era: 'legacy' | 'modern';
  fromServer: boolean;
  /**
   * Decimal number; later calls have larger ones
   */
  id: string;
  instance: string;
  /**
   * Violation of the tool's outputSchema; set shortly after the call ends
   */
  invalid?: string;
  /**
   * How the configuration treats such violations
   */
  invalidAs?: 'warn' | 'error';
  method: string;
  /**
   * Empty while in flight
   */
  outcome: '' | 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'cancelled' | 'rejected';
  progress: number;
  publicName: string;
  queuedNs: number;
  reason: string;
  servedBy?: ServedBy;
  server: string;
  session: string;
  task?: CallTask;
  /**
   * Name of the client's access token
   */
  token: string;
  tookNs: number;
  /**
   * The server's own name for the tool or prompt, or the URI of a resource
   */
  tool: string;
  traceId: string;
  /**
   * Working directory of the client
   */
  workspace: string;
}
export interface ServedBy {
  /**
   * Hash of the definition of the tool, hexadecimal; the same as in the tool changes
   */
  definition: string;
  /**
   * Name that the server reports
   */
  name: string;
  /**
   * Package with its version, or image, if known
   */
  package: string;
  /**
   * Version that the server reports
   */
  version: string;
}
export interface CallTask {
  /**
   * Id of the call that created the task; another one if this is a request about it
   */
  call: string;
  ended: boolean;
  /**
   * As the server knows it; empty for requests about it
   */
  id: string;
  /**
   * As the client last saw it, such as working or input_required; expired if the task expired before its end was seen
   */
  status: string;
}
export interface CallDetail {
  /**
   * Account of the server that the call used; missing if the server has no accounts
   */
  account?: string;
  /**
   * Decision of the user; empty if no approval was required
   */
  approval: '' | 'once' | 'minutes' | 'session' | 'always' | 'denied' | 'expired' | 'nobody';
  /**
   * JSON text
   */
  arguments?: string;
  argumentsCut?: Cut;
  at: string;
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  /**
   * Answered from the cache, without calling the server
   */
  cached: boolean;
  /**
   * Name that the application reports
   */
  client: string;
  clientVersion: string;
  code: string;
  era: 'legacy' | 'modern';
  /**
   * JSON text: the JSON-RPC error
   */
  error?: string;
  fromServer: boolean;
  /**
   * Decimal number; later calls have larger ones
   */
  id: string;
  instance: string;
  /**
   * Violation of the tool's outputSchema; set shortly after the call ends
   */
  invalid?: string;
  /**
   * How the configuration treats such violations
   */
  invalidAs?: 'warn' | 'error';
  method: string;
  note?: Note;
  /**
   * Empty while in flight
   */
  outcome: '' | 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'cancelled' | 'rejected';
  progress: number;
  /**
   * The first progress notifications of the server, at most 100 and 16 KiB
   */
  progressLog?: ProgressNotification[] | null;
  publicName: string;
  queuedNs: number;
  reason: string;
  replyCut?: Cut;
  /**
   * JSON text
   */
  result?: string;
  servedBy?: ServedBy;
  server: string;
  session: string;
  /**
   * Stack trace of an internal error that ended the call
   */
  stack?: string;
  task?: CallTask;
  /**
   * JSON text: the first reply to a call whose result is that of its task
   */
  taskCreated?: string;
  /**
   * Recorded requests about the task of the call, oldest first
   */
  taskRequests?: TaskRequest[] | null;
  /**
   * Name of the client's access token
   */
  token: string;
  tookNs: number;
  /**
   * The server's own name for the tool or prompt, or the URI of a resource
   */
  tool: string;
  traceId: string;
  /**
   * Working directory of the client
   */
  workspace: string;
}
export interface Cut {
  /**
   * SHA-256 of the original, hexadecimal
   */
  sha256?: string;
  /**
   * Original size in bytes
   */
  size: number;
}
export interface Note {
  /**
   * At most 5,000 characters
   */
  note: string;
  /**
   * At most 20, of 50 characters each
   */
  tags: string[];
  /**
   * At most 500 characters
   */
  title: string;
}
export interface ProgressNotification {
  /**
   * Time since the call was sent, in milliseconds
   */
  afterMs: number;
  /**
   * JSON text, without the progress token
   */
  params: string;
}
export interface TaskRequest {
  at: string;
  id: string;
  method: string;
  outcome: 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'cancelled' | 'rejected';
}
export interface CallPreview {
  /**
   * The arguments as one line of NAME: VALUE, at most 200 bytes
   */
  arguments: string;
  id: string;
  /**
   * Excerpt of at most 200 bytes around a word of q that is not in the first 200 bytes of the arguments
   */
  match?: string;
  /**
   * Where the excerpt in 'match' comes from
   */
  matchIn?: 'arguments' | 'reply';
}
export interface CallRequest {
  /**
   * Account of the server; if missing, default
   */
  account?: string;
  /**
   * JSON object, passed on unchanged
   */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * Server id or name
   */
  server: string;
  /**
   * The server's own name for the tool
   */
  tool: string;
}
export interface CallResult {
  callId: string;
  code?: string;
  /**
   * Structured content, or null
   */
  data: {
    [k: string]: unknown;
  };
  /**
   * Error message; empty on success
   */
  error: string;
  /**
   * Text of the result; images and resources as references
   */
  output: string;
  /**
   * Complete result, or the JSON-RPC error, or null
   */
  raw: {
    [k: string]: unknown;
  };
  success: boolean;
}
export interface Change {
  /**
   * JSON text
   */
  after?: string;
  /**
   * JSON text
   */
  before?: string;
  kind: 'added' | 'removed' | 'changed';
  /**
   * JSON Pointer, "" for the whole
   */
  path: string;
}
export interface ChangeSandboxInputBody {
  /**
   * read and write allow a path, and leave the mode as it is
   */
  mode: 'off' | 'on' | 'read' | 'write';
  /**
   * read, write: an absolute path, or one that starts with ~/
   */
  path?: string;
}
export interface ChangeVersionInputBody {
  /**
   * check queries the registry; plan tries a version alongside the running server; compare sends the newest recorded calls to read-only tools and the saved checks to the planned version and to the current one, and compares the results; apply writes the plan with that key; pin writes the running version; rollback restores the previous value
   */
  action: 'check' | 'plan' | 'compare' | 'apply' | 'pin' | 'rollback';
  /**
   * compare: tools that are called although they are not marked read-only
   *
   * @maxItems 100
   */
  also?: string[] | null;
  /**
   * compare, apply: key of the plan
   */
  key?: string;
  /**
   * plan: version to try; default: the newest in the registry
   */
  version?: string;
}
export interface Check {
  /**
   * Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only
   */
  auto?: 'on' | 'off';
  name: string;
  /**
   * @minItems 1
   * @maxItems 200
   */
  steps: Step[];
}
export interface Step {
  /**
   * Account of the server; default: the one that is chosen for the user's calls
   */
  account?: string;
  /**
   * JSON text: an object
   */
  arguments?: string;
  expect: Expect;
  server: string;
  tool: string;
  /**
   * Version of the server that responded to the recorded call
   */
  version?: string;
}
export interface Expect {
  /**
   * Strings that the result must contain
   *
   * @maxItems 50
   */
  contains?: string[] | null;
  maxTookNs?: number;
  /**
   * Default: ok
   */
  outcome?: 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'rejected';
  /**
   * JSON text: the complete result
   */
  result?: string;
}
export interface CheckOfCalls {
  /**
   * Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only
   */
  auto?: 'on' | 'off';
  name: string;
  /**
   * Ids of those whose arguments are not an object
   */
  notObjects?: string[];
  /**
   * Calls without a step: their arguments were redacted or truncated, or are not an object, or they did not end
   */
  skipped: number;
  /**
   * @minItems 1
   * @maxItems 200
   */
  steps: Step[];
}
export interface CheckOfCallsInputBody {
  /**
   * Expect the recorded results, not only the outcomes
   */
  exact?: boolean;
  from?: string;
  session?: string;
  tag?: string;
  to?: string;
}
export interface CheckReport {
  name: string;
  ok: boolean;
  steps: StepReport[];
}
export interface StepReport {
  callId: string;
  /**
   * Differences between the result and the expected one
   */
  changes?: Change[] | null;
  /**
   * Deviations from the expected result, one sentence each
   */
  failures: string[];
  ok: boolean;
  outcome: string;
  /**
   * Version of the server that responded to the recorded call
   */
  recordedVersion?: string;
  server: string;
  tookNs: number;
  tool: string;
  /**
   * Version of the server that responded
   */
  version?: string;
}
export interface Client {
  /**
   * Recorded calls
   */
  calls: number;
  /**
   * Whether the access token exists
   */
  hasToken: boolean;
  lastSeen?: string;
  name: string;
  /**
   * Open legacy sessions
   */
  sessions: number;
  token: string;
  version: string;
}
export interface ClientCost {
  /**
   * What the tool mode auto is for it
   */
  auto: 'all' | 'search' | 'deferred';
  /**
   * Servers that its entries point to, and that the profile excludes
   */
  excluded: string[];
  /**
   * What the client pays now
   */
  now: number;
  /**
   * Empty for none
   */
  profile: string;
  /**
   * Why
   */
  reason: string;
  /**
   * Whether the client searches tools by itself: then it does not read all definitions at once
   */
  searches: boolean;
  token: string;
  tokens: ToolModeTokens;
  /**
   * Its definitions, if all are listed; empty for profiles that it does not use
   */
  tools: ToolTokens[];
}
export interface ToolModeTokens {
  all: number;
  /**
   * The same as one of the others
   */
  auto: number;
  deferred: number;
  /**
   * Part of each of these sizes
   */
  instructions: number;
  search: number;
}
export interface ToolTokens {
  /**
   * Id
   */
  server: string;
  tokens: number;
  /**
   * Name that the server uses
   */
  tool: string;
}
export interface ClientFeatures {
  era: 'legacy' | 'modern';
  lastSeen: string;
  /**
   * Name that the application reports
   */
  name: string;
  protocolVersion: string;
  servers: ServerFeatures[];
  /**
   * Name of the client's access token; may be empty
   */
  token: string;
  version: string;
}
export interface ServerFeatures {
  /**
   * Protocol era of the connection that this client's calls use; empty if unknown
   */
  era: '' | 'legacy' | 'modern';
  features: Feature[];
  /**
   * False until the features of the server are known: features is empty
   */
  known: boolean;
  server: string;
}
export interface Feature {
  how: string;
  name: string;
  note?: string;
}
export interface ClientSettings {
  /**
   * The account of each server for which the client sets one, by server id
   */
  accounts: {
    [k: string]: string;
  };
  /**
   * results.maxTokens; 0: results are not truncated
   */
  maxResultTokens: number;
  profile: string;
  /**
   * results.singleCopy: structuredContent that the text of a result repeats is removed
   */
  singleCopy: boolean;
  token: string;
  toolMode: string;
}
export interface ClientSettingsInputBody {
  /**
   * The account of each server for which the client sets one, by server id; if missing, unchanged
   */
  accounts?: {
    [k: string]: string;
  };
  /**
   * results.maxTokens; 0: no limit; if missing, unchanged
   */
  maxResultTokens?: number;
  /**
   * Empty: no profile; if missing, unchanged
   */
  profile?: string;
  /**
   * results.singleCopy; if missing, unchanged
   */
  singleCopy?: boolean;
  /**
   * Empty: the profile's tool mode; if missing, unchanged
   */
  toolMode?: '' | 'all' | 'search' | 'deferred' | 'auto';
}
export interface ComparedCall {
  /**
   * JSON text: an object
   */
  arguments?: string;
  /**
   * The recorded call that was repeated
   */
  callId?: string;
  /**
   * Differences from the result of the current version
   */
  changes?: Change[] | null;
  /**
   * The saved check that contains the call
   */
  check?: string;
  /**
   * What was compared without a call: the instructions and capabilities of the server, or a list, by name or URI
   */
  definitions?: 'server' | 'prompts' | 'resources' | 'resourceTemplates';
  /**
   * Number of further differences, which changes leaves out
   */
  more?: number;
  prompt?: string;
  /**
   * Why it failed or was skipped, or which expectations of the check are no longer met
   */
  reason?: string;
  /**
   * URI
   */
  resource?: string;
  /**
   * failed: succeeds with the current version only
   */
  result: 'alike' | 'different' | 'failed' | 'skipped';
  tool?: string;
  /**
   * JSON Pointers of values that also differ between runs of the current version; they are not compared. The last entry may say how many are left out
   */
  unstable?: string[] | null;
}
export interface ComparisonReport {
  alike: number;
  calls: ComparedCall[];
  different: number;
  /**
   * Whether results could be compared, of at least half of the calls that were sent
   */
  enough: boolean;
  failed: number;
  skipped: number;
}
export interface CompletedImport {
  at: string;
  client: string;
  id: string;
  servers: string[];
}
export interface ConfigBackup {
  at: string;
  bytes: number;
  /**
   * Whether it equals the current file
   */
  current: boolean;
  name: string;
}
export interface ConfigBackupText {
  /**
   * Changes from the current file to the backup, with recognized secrets redacted; empty if they are equal
   */
  diff: string;
  /**
   * ETag of the current file
   */
  etag: string;
  name: string;
  /**
   * Problems in the backup
   */
  problems: Problem[];
  /**
   * Recognized secrets are redacted
   */
  text: string;
}
export interface Problem {
  column: number;
  file: string;
  /**
   * Identifies a change that is held back because it stops all servers; POST /api/v1/config/reload with it as confirm applies it
   */
  held?: string;
  key: string;
  line: number;
  message: string;
  server: string;
  suggestion: string;
  warning: boolean;
}
export interface ConfigFile {
  etag: string;
  path: string;
  problems: Problem[];
  text: string;
}
export interface ConfigInputBody {
  text: string;
}
export interface ConfigRetentionInputBody {
  /**
   * Alternatively, the name of a backup to restore
   */
  copy?: string;
  /**
   * New text of the configuration file
   */
  text?: string;
}
export interface Connection {
  /**
   * Whether it can be connected by an extension
   */
  bundle: boolean;
  /**
   * Whether each of its entries points to one server: it gets a list from each
   */
  byServer: boolean;
  connected: boolean;
  detected: boolean;
  http: boolean;
  id: string;
  key: string;
  kind: string;
  lastSeen?: string;
  /**
   * When it was found disconnected; missing if it is connected, or was not since Drawbridge started
   */
  leftAt?: string;
  /**
   * Whether it can be connected by a link
   */
  link: boolean;
  /**
   * Whether it has initialized a session since it was connected
   */
  live: boolean;
  maxTools: number;
  /**
   * With the tool mode auto: why that was chosen; else empty
   */
  modeReason: string;
  /**
   * Servers that were moved from it
   */
  moved: Moved[];
  name: string;
  /**
   * Next step for this client; empty if there is none
   */
  next: string;
  /**
   * Number of tools that a new list would contain
   */
  offered: number;
  /**
   * If it is connected: servers in its files that Drawbridge does not run for it; their tools are not counted
   */
  own: string[];
  path: string;
  problem: string;
  project: string;
  reload: string;
  reloads: boolean;
  /**
   * Open legacy sessions
   */
  sessions: number;
  /**
   * First initialization that is known
   */
  since?: string;
  state: string;
  supportsHttp: boolean;
  tested: boolean;
  /**
   * Estimated context size of the tool lists and instructions that it gets now; 0 if it is not connected
   */
  tokens: number;
  /**
   * How tools are listed to it now; empty if it is not connected
   */
  toolMode: '' | 'all' | 'search' | 'deferred';
  /**
   * Number of tools in its last tool list
   */
  tools: number;
  /**
   * Limits of the client that are exceeded
   */
  warnings: string[];
}
export interface Moved {
  /**
   * Name in the client's file
   */
  name: string;
  scope: string;
  /**
   * Server id in Drawbridge
   */
  server: string;
}
export interface ConnectionActionInputBody {
  /**
   * With undo: the servers that were moved stay in Drawbridge, too
   */
  keep?: boolean;
  /**
   * With undo: only these moves, by the names in the client's file
   */
  servers?: string[] | null;
}
export interface ConnectionPlan {
  action: string;
  diff: string;
  id: string;
  key: string;
  /**
   * Sentences about the result that need no attention
   */
  notes: string[];
  /**
   * The file that would be changed, if the client's file is a link out of the home folder. It must be confirmed
   */
  outside: string;
  path: string;
  reload: string;
  warnings: string[] | null;
}
export interface ConnectionRequest {
  diff?: string;
  http?: boolean;
  move?: boolean;
  /**
   * Files outside the home folder that may be changed, as the plan names them
   */
  outside?: string[] | null;
  project?: string;
  servers?: string[] | null;
  singleEntry?: boolean;
}
export interface Container {
  createdAt: string;
  id: string;
  image: string;
  /**
   * Whether Drawbridge created it for a server
   */
  managed: boolean;
  name: string;
  /**
   * Docker Compose project, or empty
   */
  project: string;
  /**
   * Configured servers that refer to it
   */
  servers: string[];
  /**
   * Docker Compose service, or empty
   */
  service: string;
  /**
   * State reported by Docker: running, exited, created, paused ...
   */
  state: string;
  /**
   * Human-readable status, such as Up 3 minutes
   */
  status: string;
}
export interface ContainerDetail {
  command: string[];
  createdAt: string;
  entrypoint: string[];
  /**
   * Names of the environment variables
   */
  environment: string[];
  id: string;
  image: string;
  init: boolean;
  /**
   * Whether Drawbridge created it for a server
   */
  managed: boolean;
  name: string;
  processes: ContainerProcess[];
  /**
   * Interpreters and package runners, and programs with mcp in their name
   */
  programs: ContainerProgram[];
  /**
   * Docker Compose project, or empty
   */
  project: string;
  /**
   * Configured servers that refer to it
   */
  servers: string[];
  /**
   * Docker Compose service, or empty
   */
  service: string;
  /**
   * Whether it has a shell; without one, a server in it cannot be stopped reliably
   */
  shell: boolean;
  /**
   * State reported by Docker: running, exited, created, paused ...
   */
  state: string;
  /**
   * Human-readable status, such as Up 3 minutes
   */
  status: string;
  suggestions: Suggestion[];
  user: string;
  workdir: string;
}
export interface ContainerProcess {
  command: string;
  pid: string;
  user: string;
}
export interface ContainerProgram {
  name: string;
  path: string;
}
export interface Suggestion {
  /**
   * JSON text: a server's object, as in the configuration file
   */
  entry: string;
  title: string;
}
export interface CostInputBody {
  /**
   * Client for which it is made
   */
  client?: string;
  /**
   * JSON object of a profile that is being edited
   */
  entry: {
    [k: string]: unknown;
  };
  /**
   * Its name, if it is in the configuration
   */
  name?: string;
}
export interface Debug {
  bothEras: boolean;
  capabilities?: unknown;
  configured: string;
  dir?: string;
  environment: string[] | null;
  frames: Frame[] | null;
  framing: string;
  instructions?: string;
  path?: string;
  processes: Proc[] | null;
  searchPath?: string;
  session: string;
  start: string;
  status: ServerStatus;
  stderr: string[] | null;
  timings: Timings;
}
export interface Frame {
  at: string;
  bytes: number;
  http?: string;
  sent: boolean;
  text: string;
}
export interface Proc {
  name: string;
  path?: string;
  pid: number;
  ppid: number;
  rssBytes: number;
}
export interface ServerStatus {
  command?: string;
  detail?: string;
  era?: string;
  exitCode?: number;
  hint?: string;
  id: string;
  inFlight: number;
  instances?: Instance[] | null;
  label: string;
  login?: string;
  pid?: number;
  prompts: number;
  protocolVersion?: string;
  reason: string;
  remedy?: Remedy;
  resources: number;
  restarts: number;
  sandbox?: string;
  serverInfo?: unknown;
  since: string;
  state: string;
  stderr?: string[] | null;
  tags?: string[] | null;
  templates: number;
  tools: number;
  transport: string;
  updated: string;
  warnings?: string[] | null;
}
export interface Instance {
  account?: string;
  inFlight: number;
  name: string;
  pid?: number;
  reason: string;
  since: string;
  state: string;
  workspace?: string;
}
export interface Remedy {
  command?: string;
  kind:
    | 'sign-in'
    | 'approve'
    | 'set-variable'
    | 'set-secret'
    | 'unlock-secrets'
    | 'install-program'
    | 'install-package'
    | 'start-docker'
    | 'allow-docker'
    | 'start-container'
    | 'free-port'
    | 'allow-access'
    | 'clear-npx-cache'
    | 'check-network'
    | 'edit-config'
    | 'see-log';
  name?: string;
  url?: string;
}
export interface Timings {
  began: string;
  lastCall: string;
  lastMessage: string;
  listedAt: string;
  nextLaunchNs: number;
  pingTookNs: number;
  startTookNs: number;
}
export interface DeleteInputBody {
  client?: string;
  /**
   * @maxItems 10000
   */
  ids?: string[] | null;
  session?: string;
}
export interface Deleted {
  deleted: number;
}
export interface DesktopChange {
  paused?: boolean;
  startAtLogin?: boolean;
}
export interface DesktopState {
  /**
   * Why the start-at-login setting cannot be read
   */
  loginProblem?: string;
  /**
   * Whether all servers are paused until they are resumed or the daemon restarts
   */
  paused: boolean;
  startAtLogin: boolean;
  /**
   * Whether the tray icon is shown
   */
  tray: boolean;
  /**
   * Why the tray icon is not shown
   */
  trayProblem?: string;
  /**
   * Whether a Drawbridge window is open
   */
  window: boolean;
}
export interface Destination {
  /**
   * The latest address
   */
  address: string;
  firstAt: string;
  /**
   * Name if known, otherwise the address
   */
  host: string;
  lastAt: string;
  port: number;
  protocol: 'tcp' | 'udp';
  server: string;
}
export interface Destinations {
  /**
   * Whether connections of this server can be observed
   */
  available: boolean;
  /**
   * Newest first
   */
  items: Destination[];
  /**
   * Why not, in one sentence
   */
  reason: string;
}
export interface DiffLine {
  op: 'same' | 'old' | 'new' | 'gap';
  text: string;
}
export interface Directory {
  /**
   * Address of the registry that a refresh uses
   */
  address: string;
  items: Installable[];
  next: string;
  /**
   * Time of the last refresh; 0001-01-01T00:00:00Z if there was none
   */
  refreshedAt: string;
  total: number;
}
export interface Installable {
  /**
   * Whether it is part of Drawbridge
   */
  curated: boolean;
  description: string;
  /**
   * Ids of the servers that use this package or URL
   */
  installed: string[];
  /**
   * Default name
   */
  label: string;
  name: string;
  options: InstallOption[];
  /**
   * Why it cannot be installed; empty if it can
   */
  refused: string;
  /**
   * Source repository, as stated by the publisher
   */
  repository: string;
  title: string;
  version: string;
  website: string;
}
export interface InstallOption {
  /**
   * Command line with values to be entered in angle brackets; empty for a URL
   */
  command: string[];
  fields: Field[];
  /**
   * Required program: npx, uvx, docker or dnx
   */
  launcher?: string;
  /**
   * Whether the version is fixed
   */
  pinned: boolean;
  /**
   * Package, or address
   */
  title: string;
}
export interface Field {
  choices?: string[] | null;
  default?: string;
  description?: string;
  /**
   * string, number, boolean, filepath, or directory
   */
  format?: string;
  key: string;
  label: string;
  /**
   * Accepts several values, one per line
   */
  multiple?: boolean;
  placeholder?: string;
  required: boolean;
  secret: boolean;
}
export interface DockerContext {
  address: string;
  current: boolean;
  name: string;
}
export interface DockerEngine {
  address: string;
  context: string;
  hint: string;
  message: string;
  /**
   * absent: Docker is not responding; refused: the user has no permission
   */
  state: 'ok' | 'absent' | 'refused';
  version: string;
}
export interface DockerView {
  containers: Container[];
  contexts: DockerContext[];
  engine: DockerEngine;
}
export interface DraftCost {
  /**
   * For those that use it
   */
  clients: ClientCost[];
  tokens: ToolModeTokens;
}
export interface EarlierVersion {
  configured: string;
  until: string;
}
export interface Edit {
  /**
   * For move: JSON Pointer to the value
   */
  from?: string;
  /**
   * add sets a member of an object, and creates missing objects; in a list, it inserts before the element. remove does nothing if there is no such value. move renames a member, or moves an element within its list
   */
  op: 'add' | 'remove' | 'move';
  /**
   * JSON Pointer; empty for the whole file, and with - for the end of a list
   */
  path: string;
  /**
   * For add: the value as JSON with comments, in the layout that it has in the file
   */
  text?: string;
}
export interface EntryUpdate {
  diff: string;
  error?: string;
  key: string;
  path: string;
}
export interface ErrorDocument {
  code: string;
  /**
   * Human-readable sentence
   */
  detail: string;
  /**
   * Invalid values by path
   */
  errors?: FieldError[] | null;
  /**
   * What to do next
   */
  hint?: string;
  /**
   * Whether the same request may succeed later
   */
  retriable: boolean;
  status: number;
  title: string;
}
export interface FieldError {
  error: string;
  field: string;
}
export interface Event {
  action: 'new' | 'changed' | 'accepted' | 'blocked' | 'returned' | 'warned';
  at: string;
  detail: string;
  id: number;
  kind: 'tool' | 'instructions' | 'server' | 'prompt' | 'resource' | 'template';
  name: string;
  newHash: string;
  oldHash: string;
  server: string;
}
export interface Explanation {
  attempts: number;
  checks: Verdict[];
  client: string;
  maxRequestMs: number;
  passes: boolean;
  publicName: string;
  /**
   * JSON text: the argument rule that decides
   */
  rule?: string;
  server: string;
  timeoutMs: number;
  tool: string;
}
export interface Verdict {
  detail: string;
  key: string;
  name: string;
  result: 'pass' | 'refuse' | 'ask' | 'wait' | 'off';
}
export interface Facet {
  calls: number;
  /**
   * Text whose search finds the calls of an error, if their messages differ in numbers or ids: the value is the newest one
   */
  search?: string;
  /**
   * Server of a tool
   */
  server?: string;
  value: string;
}
export interface Facets {
  clients: Facet[];
  /**
   * The most frequent errors of the newest 1000 failed calls, each as its most informative line; those that differ only in words with digits, except HTTP status codes, are one; none for a search
   */
  errors: Facet[];
  /**
   * If set, only this many of the newest calls were counted; otherwise counts are per full hour, or per full minute within the last 48 h
   */
  newest?: number;
  outcomes: Facet[];
  servers: Facet[];
  tools: Facet[];
  total: number;
}
export interface File {
  bytes: number;
  name: string;
  text: string;
}
export interface Finding {
  action?: string;
  check: string;
  fix?: string;
  id: string;
  level: string;
  message: string;
  subject: string;
}
export interface FullRecording {
  /**
   * Name of the application, or of its access token
   */
  client?: string;
  server?: string;
  session?: string;
  /**
   * At most 24 hours from now
   */
  until: string;
}
export interface Grant {
  client: string;
  id: string;
  server: string;
  session: boolean;
  tool: string;
  until: string;
  where: string;
}
export interface Guest {
  /**
   * Whether its calls wait for approval, at least
   */
  approval: 'never' | 'ask' | 'deny' | 'destructive';
  createdAt: string;
  /**
   * Folder with its socket and its access token, to be mounted in the sandbox
   */
  folder: string;
  /**
   * Name of its access token, and in the history
   */
  name: string;
  /**
   * Why its socket is not open; empty if it is
   */
  problem: string;
  /**
   * The only profile that it can use; empty: all servers
   */
  profile: string;
  /**
   * What to write where, without the access token
   */
  setup: SetupStep[];
  /**
   * Id of a user who can connect besides this one and root; 0: none
   */
  uid: number;
}
export interface SetupStep {
  text: string;
  title: string;
}
export interface GuestInputBody {
  /**
   * Whether its calls wait for approval, at least; ask if missing
   */
  approval?: 'never' | 'ask' | 'destructive';
  name: string;
  /**
   * The only profile that it can use; empty: all servers
   */
  profile?: string;
  /**
   * Id, on this machine, of another user who can connect: for programs that run in a container as neither root nor you
   */
  uid?: number;
}
export interface HeldCalls {
  calls: number;
  /**
   * Time before the jump
   */
  from: string;
  /**
   * Time at which they are deleted, unless the clock is corrected first
   */
  until: string;
}
export interface HiddenTool {
  server: string;
  tool: string;
}
export interface HideInputBody {
  /**
   * False shows them to clients again
   */
  hide: boolean;
  /**
   * @minItems 1
   * @maxItems 5000
   */
  tools: HiddenTool[] | null;
}
export interface HistoryState {
  /**
   * Total size of the files
   */
  bytes: number;
  calls: number;
  clockHold?: HeldCalls;
  /**
   * Part of it that is free for new calls
   */
  freeBytes: number;
  /**
   * Calls that are not in the search index yet
   */
  indexPending: number;
  /**
   * All calls before this time are indexed; absent if all are
   */
  indexedUpTo?: string;
  /**
   * 0: unlimited
   */
  keepDays: number;
  /**
   * 0: unlimited
   */
  maxBytes: number;
  recorder: RecorderStatus;
  recording: RecordingSettings;
}
export interface RecorderStatus {
  /**
   * Calls dropped since the start
   */
  dropped: number;
  /**
   * What is recorded in full for a while
   */
  full?: FullRecording[] | null;
  /**
   * Calls waiting to be written
   */
  queued: number;
  state: 'recording' | 'paused' | 'off';
}
export interface RecordingSettings {
  /**
   * What is recorded with payloads of up to 8 MiB for a while
   */
  full?: FullRecording[] | null;
  paused: boolean;
  rules?: Rule[] | null;
}
export interface Rule {
  record: string;
  server: string;
  tool?: string;
}
export interface Idle {
  fix: string;
  /**
   * Such as: All 3 servers are disabled
   */
  reason: string;
}
export interface ImportInputBody {
  /**
   * Diff that was shown; any other one is rejected
   */
  diff?: string;
  /**
   * Only these servers
   */
  servers?: string[] | null;
}
export interface ImportPlan {
  diff: string;
  /**
   * Identifies the import for undo; empty in a plan, or if nothing was imported
   */
  id: string;
  /**
   * Changes to the configuration
   */
  path: string;
  /**
   * Names of the secrets that are moved to the secret store
   */
  secrets: string[];
  servers: ImportableServer[];
}
export interface ImportableServer {
  alsoIn: string[] | null;
  entry: string;
  exists: boolean;
  label: string;
  name: string;
  notes: string[] | null;
  scope: string;
  /**
   * Names under which its literal tokens will be stored
   */
  secrets: string[];
  skipReason: string;
}
export interface InstallBody {
  /**
   * Alternatively, the path of a .mcpb file on this machine
   */
  bundle?: string;
  /**
   * To install: the entry that the plan returned
   */
  entry?: string;
  /**
   * Name of the server
   */
  label?: string;
  /**
   * Name of a server of the directory
   */
  name?: string;
  /**
   * Index in options
   */
  option?: number;
  /**
   * Alternatively, the id of an uploaded bundle
   */
  upload?: string;
  /**
   * Form values by field key
   */
  values?: {
    [k: string]: string;
  };
}
export interface Installation {
  bundle?: About;
  /**
   * Command line of the server
   */
  command: string[];
  done: boolean;
  /**
   * JSON text: the server's object for the configuration
   */
  entry: string;
  /**
   * Form of a bundle
   */
  fields: Field[];
  /**
   * Server id
   */
  id: string;
  label: string;
  /**
   * Keys of required fields without a value; if there are any, entry is empty
   */
  missing: string[];
  /**
   * Names under which secrets are stored
   */
  secrets: string[];
}
export interface LastRun {
  at: string;
  /**
   * Steps with an unexpected result
   */
  failed: number;
  ok: boolean;
  seen?: {
    [k: string]: string;
  };
  /**
   * What started the run: the user, or the server whose version or tools changed
   */
  trigger: string;
}
export interface Line {
  at: string;
  level: string;
  text: string;
}
export interface ListApproval {
  items: Approval[];
  next: string;
}
export interface ListCall {
  items: Call[];
  next: string;
}
export interface ListCallPreview {
  items: CallPreview[];
  next: string;
}
export interface ListClient {
  items: Client[];
  next: string;
}
export interface ListClientCost {
  items: ClientCost[];
  next: string;
}
export interface ListClientFeatures {
  items: ClientFeatures[];
  next: string;
}
export interface ListCompletedImport {
  items: CompletedImport[];
  next: string;
}
export interface ListConfigBackup {
  items: ConfigBackup[];
  next: string;
}
export interface ListConnection {
  items: Connection[];
  next: string;
}
export interface ListEvent {
  items: Event[];
  next: string;
}
export interface ListFile {
  items: File[];
  next: string;
}
export interface ListFinding {
  items: Finding[];
  next: string;
}
export interface ListGrant {
  items: Grant[];
  next: string;
}
export interface ListGuest {
  items: Guest[];
  next: string;
}
export interface ListHiddenTool {
  items: HiddenTool[];
  next: string;
}
export interface ListImportableServer {
  items: ImportableServer[];
  next: string;
}
export interface ListLine {
  items: Line[];
  next: string;
}
export interface ListMessage {
  items: Message[];
  next: string;
}
export interface Message {
  at: string;
  /**
   * Size of the complete message
   */
  bytes: number;
  client?: string;
  from: 'client' | 'server' | 'drawbridge';
  /**
   * Remote servers only: request line or status, and headers, one per line; secrets are redacted
   */
  http?: string;
  id: string;
  server?: string;
  session?: string;
  /**
   * Secrets are redacted; at most 8 KiB
   */
  text: string;
}
export interface ListRecentChange {
  items: RecentChange[];
  next: string;
}
export interface RecentChange {
  action: 'new' | 'changed' | 'accepted' | 'blocked' | 'returned' | 'warned';
  at: string;
  detail: string;
  kind: 'server' | 'version' | 'command' | 'tool' | 'definition' | 'warning' | 'destination';
  /**
   * Of the tool or other definition, or the destination
   */
  name: string;
  server: string;
}
export interface ListSavedCheck {
  items: SavedCheck[];
  next: string;
}
export interface SavedCheck {
  /**
   * Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only
   */
  auto?: 'on' | 'off';
  last?: LastRun;
  name: string;
  /**
   * @minItems 1
   * @maxItems 200
   */
  steps: Step[];
}
export interface ListServerStatus {
  items: ServerStatus[];
  next: string;
}
export interface ListServerUsage {
  items: ServerUsage[];
  next: string;
}
export interface ServerUsage {
  /**
   * Percentage of one core since the previous sample
   */
  cpuPercent: number;
  processes: number;
  rssBytes: number;
  server: string;
}
export interface ListServerVersion {
  items: ServerVersion[];
  next: string;
}
export interface ServerVersion {
  /**
   * As in the configuration
   */
  configured: string;
  /**
   * Previous values, newest first
   */
  earlier: EarlierVersion[];
  /**
   * Whether the entry runs a package: npx, uvx or an image
   */
  known: boolean;
  /**
   * Newest version in the registry if it was queried, now or by the daily search for updates; for an image, the digest of its tag there
   */
  latest: string;
  launcher: '' | 'npx' | 'uvx' | 'image';
  package: string;
  /**
   * What pinning would write; empty if there is nothing to pin
   */
  pin: string;
  /**
   * Whether the entry specifies a fixed version
   */
  pinned: boolean;
  server: string;
  /**
   * Source of version: cache is the newest that was downloaded, server is what the server reports, image is what the image's tag refers to on this machine
   */
  source: '' | 'configuration' | 'process' | 'cache' | 'server' | 'container' | 'image';
  /**
   * Running version, if known
   */
  version: string;
}
export interface ListSession {
  items: Session[];
  next: string;
}
export interface Session {
  calls: number;
  client: string;
  clientVersion: string;
  errors: number;
  first: string;
  last: string;
  /**
   * Whether the client is connected with it
   */
  open?: boolean;
  /**
   * Ids of the servers that were called
   */
  servers: string[];
  /**
   * Use it as a filter of GET /api/v1/calls to get the calls in order
   */
  session: string;
  token: string;
  workspace: string;
}
export interface ListSessionCost {
  items: SessionCost[];
  next: string;
}
export interface SessionCost {
  /**
   * First tool call
   */
  at: string;
  calls: number;
  client: string;
  /**
   * How tools are listed to the client now
   */
  mode: 'all' | 'search' | 'deferred';
  /**
   * all, search and deferred
   */
  modes: ModeCost[];
  /**
   * Results, the same in each mode
   */
  resultTokens: number;
  /**
   * Whether the client searches tools by itself: then the mode all costs it less
   */
  searches: boolean;
  session: string;
  token: string;
  /**
   * Number of different tools that it called
   */
  tools: number;
}
export interface ModeCost {
  /**
   * At most: answers of find_tools or describe_tools before the first call of each tool
   */
  discovery: number;
  /**
   * Instructions and tool list
   */
  list: number;
  mode: 'all' | 'search' | 'deferred';
  /**
   * List, discovery and results, each read once: what a prompt cache leaves to pay in full
   */
  once: number;
  /**
   * List and discovery in each turn, and the results
   */
  total: number;
  /**
   * Requests to the model: one for each call, one for each tool that had to be discovered, and a last one
   */
  turns: number;
}
export interface ListSource {
  items: Source[];
  next: string;
}
export interface Source {
  /**
   * Identifies it in the routes of imports
   */
  key: string;
  name: string;
  /**
   * Its file, or the first one
   */
  path: string;
  /**
   * Whether a client starts the servers, past any gateway
   */
  plugin: boolean;
  /**
   * Why it cannot be read; empty if it can
   */
  problem: string;
  servers: string[];
}
export interface ListTakeoverResult {
  items: TakeoverResult[];
  next: string;
}
export interface TakeoverResult {
  /**
   * Why it was not changed; empty on success
   */
  error: string;
  key: string;
  name: string;
  /**
   * How the client picks up the change, a sentence
   */
  reload: string;
  /**
   * Number of its servers that were moved
   */
  servers: number;
}
export interface ListTakeoverUndone {
  items: TakeoverUndone[];
  next: string;
}
export interface TakeoverUndone {
  error: string;
  key: string;
  /**
   * restored, removed or wasAbsent; empty after an error
   */
  result: string;
}
export interface ListTool {
  items: Tool[];
  next: string;
}
export interface Tool {
  /**
   * JSON text, or empty
   */
  annotations: string;
  description: string;
  /**
   * JSON text
   */
  inputSchema: string;
  /**
   * Public name
   */
  name: string;
  /**
   * JSON text, or empty
   */
  outputSchema: string;
  /**
   * JSON text: the complete entry as clients see it
   */
  raw: string;
  server: string;
  title: string;
  /**
   * The server's own name
   */
  tool: string;
}
export interface ListToolChange {
  items: ToolChange[];
  next: string;
}
export interface ToolChange {
  at: string;
  diff: DiffLine[];
  kind: 'tool' | 'instructions' | 'prompt' | 'resource' | 'template';
  name: string;
  newHash: string;
  oldHash: string;
  /**
   * What of a changed definition differs
   */
  parts: ('description' | 'schema' | 'title' | 'annotation' | 'other part')[];
  server: string;
  state: 'waiting' | 'blocked' | 'added' | 'changed' | 'removed';
  warnings: Warning[];
}
export interface Warning {
  code:
    | 'hidden-text'
    | 'hides-from-user'
    | 'reads-files'
    | 'commands'
    | 'other-tools'
    | 'overrides'
    | 'sends-away'
    | 'shadowing'
    | 'lookalike'
    | 'encoded'
    | 'same-name';
  quote: string;
  reason: string;
  where: string;
}
export interface ListToolTrust {
  items: ToolTrust[];
  next: string;
}
export interface ToolTrust {
  always: boolean;
  firstAt: string;
  hash: string;
  new: boolean;
  /**
   * Empty while the tool is withheld from clients
   */
  publicName: string;
  server: string;
  /**
   * The server's own name for the tool; empty for the server's instructions
   */
  tool: string;
  warnings: Warning[];
  withheld?: '' | 'waiting' | 'blocked';
}
export interface ListToolWithSettings {
  items: ToolWithSettings[];
  next: string;
}
export interface ToolWithSettings {
  /**
   * Description of the server
   */
  description: string;
  destructive: boolean | null;
  /**
   * Configuration key that hides it
   */
  hiddenBy: '' | 'enabled' | 'includeTools' | 'excludeTools' | 'toolChanges';
  idempotent: boolean | null;
  openWorld: boolean | null;
  /**
   * Public name at the endpoint that combines all servers; empty if hidden
   */
  publicName: string;
  /**
   * As declared by the server; null if not declared
   */
  readOnly: boolean | null;
  settings: ToolSettings;
  shown: boolean;
  title: string;
  /**
   * The server's own name
   */
  tool: string;
}
export interface ToolSettings {
  allowClients: string[];
  /**
   * What replaces the annotations of the server, such as readOnlyHint
   */
  annotations: {
    [k: string]: boolean;
  };
  approval: '' | 'never' | 'ask' | 'deny' | 'destructive';
  cacheTtlMs: number;
  description: string;
  enabled: boolean;
  maxRequestMs: number;
  rateLimit: RateSetting;
  /**
   * Upper limit for the recording of its calls; overrides the server's setting
   */
  record: '' | 'full' | 'meta' | 'off';
  rename: string;
  requestTimeoutMs: number;
  retry: RetrySettings;
  title: string;
  validateInput: '' | 'off' | 'reject';
}
export interface RateSetting {
  burst: number;
  by: 'client' | 'session';
  perSecond: number;
}
export interface RetrySettings {
  attempts: number;
  delaysMs: number[];
}
export interface LiveReply {
  /**
   * JSON text: the JSON-RPC error
   */
  error?: string;
  /**
   * JSON text
   */
  result?: string;
}
export interface LiveRequest {
  method: 'tools/call' | 'prompts/get' | 'resources/read';
  /**
   * JSON text of an object, passed on unchanged
   */
  params: string;
  /**
   * Server id or name
   */
  server: string;
}
export interface Load {
  queued: number;
  rejected: number;
  running: number;
  server: string;
}
export interface LoginPending {
  expiresAt: string;
  host: string;
  issuer: string;
  scopes?: string[] | null;
  url: string;
}
export interface LoginStatus {
  expires?: string;
  failed?: string;
  issuer?: string;
  pending?: Pending;
  reason: string;
  renews: boolean;
  scopes?: string[] | null;
  since?: string;
  state: string;
}
export interface Pending {
  expiresAt: string;
  host: string;
  issuer: string;
  scopes?: string[] | null;
  url: string;
}
export interface ManualEntry {
  /**
   * JSON text
   */
  text: string;
}
export interface ManualSetup {
  bundle: string;
  format: string;
  link: string;
  path: string;
  steps: string[] | null;
  text: string;
}
export interface NoteChange {
  base?: Note;
  /**
   * At most 5,000 characters
   */
  note: string;
  /**
   * At most 20, of 50 characters each
   */
  tags: string[];
  /**
   * At most 500 characters
   */
  title: string;
}
export interface Notice {
  message: string;
  subject: string;
}
export interface OpenAddress {
  url: string;
}
export interface OpenRequest {
  to?: string;
}
export interface ParseInputBody {
  /**
   * Text as READMEs show it: a block of JSON, TOML or YAML, command lines, an install link or a URL
   */
  text: string;
}
export interface ParsedServer {
  /**
   * Any JSON value
   */
  entry: {
    [k: string]: unknown;
  };
  name: string;
  /**
   * What is not copied, and why the server is disabled
   */
  notes: string[];
  /**
   * Why the server cannot be added; its entry is then the one in the text
   */
  refused?: string;
}
export interface ParsedServers {
  servers: ParsedServer[];
  /**
   * The text is a link of an application, which cannot be read
   */
  unreadableLink: boolean;
}
export interface PartInputBody {
  offset: number;
  /**
   * base64
   */
  part: string;
}
export interface Past {
  /**
   * How many of the last 500 calls were approved by the user
   */
  approved: number;
  /**
   * The last three that the server received, newest first
   */
  calls: PastCall[];
  /**
   * How many of them were denied by the user
   */
  refused: number;
}
export interface PastCall {
  /**
   * The beginning of the JSON text
   */
  arguments: string;
  at: string;
  id: string;
  outcome: string;
  /**
   * The beginning of the text of the result
   */
  result: string;
}
export interface PatchConfigInputBody {
  /**
   * Write nothing, and return the text that would be written with its problems
   */
  dryRun?: boolean;
  /**
   * @minItems 1
   * @maxItems 1000
   */
  edits: Edit[];
}
export interface PickAnswer {
  id: string;
  path: string;
}
export interface PickRequest {
  kind: 'file' | 'folder';
}
export interface Picked {
  /**
   * Empty if the user cancelled
   */
  path: string;
}
export interface PolicyStatus {
  /**
   * Servers whose circuit breaker is open or half-open
   */
  breakers: BreakerStatus[];
  /**
   * Servers with a concurrency limit and calls that are in flight, queued or rejected by it
   */
  waiting: Load[];
}
/**
 * This interface was referenced by `Api`'s JSON-Schema
 * via the `definition` "Post-approvals-id-previewRequest".
 */
export interface PostApprovalsIdPreviewRequest {
  /**
   * honoured: runs of this tool with its preview argument change nothing. ignored: they make the change, and are not run any more
   */
  action: 'run' | 'honoured' | 'ignored';
}
export interface Profile {
  address: string;
  /**
   * Names of the access tokens that are assigned to it
   */
  clients: string[];
  description: string;
  /**
   * JSON object in the configuration
   */
  entry: {
    [k: string]: unknown;
  };
  /**
   * Changes when the object changes
   */
  etag: string;
  /**
   * Whether it lists no servers and therefore offers all
   */
  everyServer: boolean;
  folders: string[];
  /**
   * Empty for the default view of everything at /mcp
   */
  name: string;
  /**
   * Estimated context size of what each of these clients gets now, by token
   */
  pays: {
    [k: string]: number;
  };
  /**
   * Ids of the servers that it lists
   */
  servers: string[];
  tokens: ToolModeTokens;
  toolMode: 'all' | 'search' | 'deferred' | 'auto';
  tools: number;
}
export interface Profiles {
  /**
   * The accounts of all servers that have several, default first
   */
  accounts: AccountUse[];
  clients: ClientSettings[];
  items: Profile[];
  next: string;
}
export interface Protection {
  /**
   * Whether this system can enforce it
   */
  enforced: boolean;
  name: string;
  /**
   * What it requires, or why it is not possible
   */
  requires: string;
}
export interface PruneInputBody {
  keepDays?: number;
  maxBytes?: number;
  maxCalls?: number;
}
export interface PutCheckInputBody {
  /**
   * Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only
   */
  auto?: '' | 'on' | 'off';
  /**
   * @minItems 1
   * @maxItems 200
   */
  steps: Step[];
}
export interface PutProfileInputBody {
  /**
   * JSON object for the configuration
   */
  entry: {
    [k: string]: unknown;
  };
}
export interface Refusal {
  /**
   * What to add to the sandbox to allow it: the path, or its folder if the file does not exist; empty if only an edit of the configuration allows it, as remark says
   */
  allow: string;
  path: string;
  /**
   * Why there is nothing to allow
   */
  remark?: string;
  /**
   * Whether reading is also denied, so the server may have tried to read or to write
   */
  unreadable: boolean;
}
export interface ReloadInputBody {
  /**
   * A change that is held back, as the field held of its problem names it, or * for any: it is applied, unless the files have changed since
   */
  confirm?: string;
}
export interface RemovedServer {
  name: string;
  /**
   * Profiles that include it by name
   */
  profiles: string[];
  /**
   * Other clients with an entry for it or for all servers
   */
  usedBy: string[];
}
export interface RenameInputBody {
  /**
   * New name in the configuration
   */
  name: string;
}
export interface RenamedServer {
  command?: string;
  detail?: string;
  era?: string;
  exitCode?: number;
  hint?: string;
  id: string;
  inFlight: number;
  instances?: Instance[] | null;
  label: string;
  login?: string;
  pid?: number;
  prompts: number;
  protocolVersion?: string;
  reason: string;
  remedy?: Remedy;
  /**
   * References to the old name that were not changed
   */
  renameWarnings: string[];
  resources: number;
  restarts: number;
  sandbox?: string;
  serverInfo?: unknown;
  since: string;
  state: string;
  stderr?: string[] | null;
  tags?: string[] | null;
  templates: number;
  tools: number;
  transport: string;
  updated: string;
}
export interface ReplayInputBody {
  /**
   * JSON object that replaces the recorded arguments
   */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * Required unless the tool is marked read-only
   */
  confirm?: boolean;
}
export interface RestoreConfigInputBody {
  /**
   * ETag of the file that the change is based on
   */
  etag: string;
}
export interface RestoredConfig {
  /**
   * Name of the backup of the previous file
   */
  backup: string;
  /**
   * ETag of the current file
   */
  etag: string;
}
export interface RetentionPreview {
  calls: number;
  /**
   * Whether calls is an estimate
   */
  estimated: boolean;
  /**
   * Start of the oldest of them
   */
  from?: string;
  /**
   * Start of the newest of them
   */
  to?: string;
  /**
   * Total number of calls
   */
  total: number;
}
export interface RetentionPreviewInputBody {
  /**
   * 0: unlimited
   */
  keepDays: number;
  /**
   * 0: unlimited
   */
  maxBytes: number;
  /**
   * 0: unlimited
   */
  maxCalls?: number;
}
export interface RuleCount {
  calls: number;
  rule: string;
}
export interface RuleDecision {
  account: string;
  at: string;
  client: string;
  id: string;
  /**
   * Configuration key of the rule
   */
  rule: string;
  server: string;
  then: 'ask' | 'deny';
  tool: string;
  why: string;
}
export interface RuleSuggestion {
  server: string;
  /**
   * Recorded calls to the tool whose arguments were compared
   */
  similar: number;
  /**
   * The server's own name
   */
  tool: string;
  /**
   * Conditions, each the JSON text of an object, as in 'where' of a rule; all match the call
   */
  where: string[];
}
export interface RuleTrial {
  /**
   * Calls that a rule would have allowed without asking
   */
  allowed: number;
  /**
   * Calls for which the user would have been asked
   */
  asked: number;
  /**
   * Tool calls that were tested
   */
  calls: number;
  /**
   * false: older calls after 'from' were not tested, because there are too many
   */
  complete: boolean;
  /**
   * Calls that could not be evaluated because their arguments were too long to be recorded completely
   */
  cut: number;
  /**
   * The newest calls that would have needed approval or been denied
   */
  decisions: RuleDecision[];
  /**
   * Calls that would have been denied
   */
  denied: number;
  /**
   * Calls since this time were tested
   */
  from: string;
  /**
   * Calls that could not be evaluated because their arguments were not recorded
   */
  notRecorded: number;
  /**
   * Calls that were evaluated as calls without a profile, because the history does not record it, although a rule is for a profile
   */
  profileUnknown: number;
  /**
   * Calls that could not be evaluated because secrets were removed from their arguments
   */
  redacted: number;
  /**
   * How many calls each rule decides
   */
  rules: RuleCount[];
}
export interface SandboxStatus {
  access?: Access;
  /**
   * Whether a sandbox can confine a server of this type
   */
  applies: boolean;
  bestEffort: boolean;
  /**
   * Whether the system can enforce enough for the server to start with sandbox on
   */
  enough: boolean;
  mode: 'off' | 'on';
  network: 'any' | 'none';
  ports: number[];
  /**
   * What this system can and cannot confine
   */
  protections: Protection[];
  /**
   * Additional paths, as configured
   */
  read: string[];
  /**
   * Why not, or why it is incomplete; empty if neither
   */
  reason: string;
  /**
   * What the sandbox denied since the server was started, according to the server's stderr output
   */
  refused: Refusal[];
  /**
   * How many other paths it denied, up to a limit
   */
  refusedMore: number;
  server: string;
  /**
   * Whether it may connect to Unix sockets; by default, as network
   */
  unixSockets: 'any' | 'none';
  write: string[];
}
export interface Secret {
  changedAt: string;
  name: string;
  /**
   * Ids of the servers whose configuration refers to it
   */
  servers: string[] | null;
}
export interface SecretInputBody {
  value: string;
}
export interface Secrets {
  /**
   * Where the encryption key is: keyring or file; empty while nothing is stored
   */
  home: string;
  items: Secret[];
  /**
   * Whether the keyring is locked: items is empty, and servers that need a secret wait
   */
  locked: boolean;
  /**
   * Names that servers refer to and that are not stored; empty while locked
   */
  missing: string[];
  /**
   * Problem with the storage of secrets; empty if there is none
   */
  notice: string;
}
export interface ServerDetail {
  command?: string;
  detail?: string;
  era?: string;
  exitCode?: number;
  hint?: string;
  id: string;
  inFlight: number;
  instances?: Instance[] | null;
  label: string;
  log: Line[];
  login?: string;
  pid?: number;
  prompts: number;
  protocolVersion?: string;
  reason: string;
  remedy?: Remedy;
  resources: number;
  restarts: number;
  sandbox?: string;
  serverInfo?: unknown;
  since: string;
  state: string;
  stderr?: string[] | null;
  tags?: string[] | null;
  templates: number;
  tools: number;
  transport: string;
  updated: string;
  usage?: Usage;
  warnings?: string[] | null;
}
export interface Usage {
  cpuPercent: number;
  rssBytes: number;
  tree: Proc[] | null;
}
export interface SetToolsInputBody {
  /**
   * Keys to change, as in the configuration; null removes a key
   */
  set: {
    /**
     * Any JSON value
     */
    [k: string]: {
      [k: string]: unknown;
    };
  };
  /**
   * The server's own names for the tools
   *
   * @minItems 1
   * @maxItems 5000
   */
  tools: string[];
}
export interface SharedServer {
  /**
   * Names of the other clients, and imports
   */
  clients: string[];
  name: string;
}
export interface Shown {
  shown: boolean;
}
export interface Snapshot {
  /**
   * Pending approvals
   */
  approvals: Approval[];
  /**
   * Latest calls, including those in flight, newest first
   */
  calls: Call[];
  status: Status;
}
export interface Status {
  configPath: string;
  idle?: Idle;
  /**
   * Whether this build has an update source, so that updates.check can be turned on
   */
  knowsReleases: boolean;
  notices: Notice[];
  problems: Problem[];
  recorder: RecorderStatus;
  requireToken: boolean;
  servers: ServerStatus[];
  startedAt: string;
  url: string;
  /**
   * Resource usage of the servers that run on this machine
   */
  usage: ServerUsage[];
  version: string;
  /**
   * Number of tools that clients see, by server id; only servers with hidden tools
   */
  visibleTools?: {
    [k: string]: number;
  };
  /**
   * Number of changed definitions that are withheld from clients until you review them, by server id
   */
  withheld?: {
    [k: string]: number;
  };
}
export interface Start {
  /**
   * Who started its program: direct is Drawbridge itself
   */
  how: 'direct' | 'npx';
  /**
   * Memory that the processes of npm took beside the server
   */
  npxBytes: number;
  /**
   * How long the newest start by npx took that installed nothing; 0 if there was none
   */
  npxStartNs: number;
  package: string;
  server: string;
  /**
   * How long the start took, until the tools were listed; 0 while it starts
   */
  startNs: number;
  /**
   * Version that is started directly
   */
  version: string;
  /**
   * Why npx did; empty for direct
   */
  why: string;
}
export interface Starts {
  items: Start[];
  /**
   * Memory that npm would take beside the servers that were started directly
   */
  savedBytes: number;
  /**
   * Time by which their newest starts were shorter than with npx, in total
   */
  savedNs: number;
}
export interface SuggestRuleInputBody {
  /**
   * Id of a pending approval
   */
  approval?: string;
  /**
   * Id of a recorded call
   */
  call?: string;
}
export interface TakeoverClient {
  /**
   * Changes to the configuration and to the client's file; secrets are masked
   */
  diff: string;
  key: string;
  name: string;
  /**
   * Which servers become one with another or are renamed, and other sentences that need no attention
   */
  notes: string[];
  /**
   * The file that would be changed, if the client's file is a link out of the home folder. It must be confirmed
   */
  outside: string;
  path: string;
  servers: number;
  warnings: string[];
}
export interface TakeoverPlan {
  /**
   * Number of servers that Drawbridge gets: servers with the same definition become one
   */
  added: number;
  /**
   * In the order in which they are changed
   */
  clients: TakeoverClient[];
  /**
   * Identifies this plan in the request that applies it
   */
  plan: string;
  /**
   * Number of servers to move
   */
  servers: number;
  skipped: TakeoverSkip[];
}
export interface TakeoverSkip {
  client: string;
  reason: string;
}
export interface TakeoverRequest {
  /**
   * Keys of clients that stay as they are, as in the preview
   *
   * @maxItems 200
   */
  except?: string[] | null;
  /**
   * Files outside the home folder that may be changed, as the plan names them
   */
  outside?: string[] | null;
  /**
   * Id of the plan that was shown; any other one is rejected
   */
  plan: string;
}
export interface TakeoverUndoInputBody {
  /**
   * Keys of the clients whose servers were moved
   *
   * @minItems 1
   * @maxItems 200
   */
  keys: string[] | null;
}
export interface TestItem {
  description: string;
  /**
   * Name, or URI of a resource
   */
  name: string;
  /**
   * JSON text: the complete entry
   */
  raw: string;
  title: string;
}
export interface TestRequest {
  /**
   * The server's JSON object, as in the configuration file
   */
  entry?: {
    [k: string]: unknown;
  };
  /**
   * Name in the configuration
   */
  name?: string;
  /**
   * Id or name of a configured server, instead of name and entry
   */
  server?: string;
}
export interface TestResult {
  code: string;
  /**
   * Command line or URL; secrets are redacted
   */
  command: string;
  era: string;
  error: string;
  hint: string;
  instructions: string;
  /**
   * Last lines of the server's output
   */
  log: string[];
  /**
   * needed: the server responds but requires a sign-in, which is possible once it is configured
   */
  login: '' | 'needed';
  ok: boolean;
  /**
   * Problems of the entry; may contain warnings on success
   */
  problems: Problem[];
  prompts: TestItem[];
  protocolVersion: string;
  remedy?: Remedy;
  resources: TestItem[];
  /**
   * Any JSON value
   */
  serverInfo: {
    [k: string]: unknown;
  };
  /**
   * Stage at which the test ended
   */
  stage: 'configuration' | 'start' | 'connect' | 'done';
  templates: TestItem[];
  tookNs: number;
  tools: Tool[];
  transport: string;
  warnings: string[];
}
export interface TokenChange {
  name: string;
  rewritten: EntryUpdate[];
  /**
   * New access token, for the user to enter in a client, if no client's file was updated
   */
  token?: string;
}
export interface TokenInputBody {
  /**
   * Only report what would change; the access token is kept
   */
  dryRun?: boolean;
}
export interface TryRulesInputBody {
  /**
   * Test the calls of this many days; default: 30
   */
  days?: number;
  /**
   * Text of a configuration file, or of a list of rules; default: the rules in force
   */
  rules?: string;
  /**
   * Whether rules is YAML
   */
  yaml?: boolean;
}
export interface UndoPlan {
  /**
   * Whether it has changed since it was connected: if not, it gets its original content, else only Drawbridge's entries are undone. byHand: the user added the entry
   */
  file: 'unchanged' | 'changed' | 'byHand';
  /**
   * Servers that were moved and stay in Drawbridge's configuration, because they were changed there
   */
  kept: string[];
  /**
   * File of the client
   */
  path: string;
  /**
   * Why it cannot be undone; empty if it can
   */
  problem: string;
  /**
   * Servers that are removed from Drawbridge's configuration
   */
  removed: RemovedServer[];
  /**
   * Servers that the client starts by itself again, by the names in its file
   */
  restored: string[];
  /**
   * Servers that were moved and stay in Drawbridge's configuration, because other clients or imports brought them in, too: until the last of these is undone
   */
  shared?: SharedServer[];
}
export interface Undone {
  key: string;
  result: string;
}
export interface Upload {
  id: string;
  /**
   * Bytes received; offset of the next part
   */
  received: number;
}
export interface UploadInputBody {
  /**
   * File size in bytes
   */
  size: number;
}
export interface UsageReport {
  clients: UsageStats[];
  from: string;
  /**
   * In chronological order; intervals without calls are omitted
   */
  series: UsageStats[];
  /**
   * Interval of the series
   */
  seriesNs: number;
  /**
   * Most called first
   */
  servers: UsageStats[];
  to: string;
  tools: UsageStats[];
  total: UsageStats;
  /**
   * Versions that responded to their first call in the range, oldest first: those of the server, or without one, those that replaced another version; at most the newest 50
   */
  versions: VersionStart[];
}
export interface UsageStats {
  /**
   * Start of the interval; series only
   */
  at?: string;
  /**
   * Part of the results: white space between JSON tokens, and in text after other white space
   */
  blankBytes: number;
  calls: number;
  client?: string;
  errors: number;
  lastUsed?: string;
  meanNs: number;
  p50Ns: number;
  p95Ns: number;
  p99Ns: number;
  /**
   * Calls that the policy or the user rejected; they are not errors
   */
  rejected: number;
  /**
   * Part of the results: text that repeats structuredContent
   */
  repeatedBytes: number;
  /**
   * Size of the results
   */
  resultBytes: number;
  /**
   * The same, as an estimated number of tokens
   */
  resultTokens: number;
  server?: string;
  token?: string;
  tool?: string;
}
export interface VersionStart {
  at: string;
  /**
   * Name that the server reports
   */
  name: string;
  /**
   * Package with its version, or image, if known
   */
  package: string;
  server: string;
  /**
   * Version that the server reports
   */
  version: string;
}
export interface VersionPlan {
  applied: boolean;
  /**
   * Tools that are added, removed or changed
   */
  changes: ToolChange[];
  comparison?: ComparisonReport;
  /**
   * As in the configuration
   */
  configured: string;
  /**
   * Previous values, newest first
   */
  earlier: EarlierVersion[];
  /**
   * Current value in the configuration
   */
  from: string;
  /**
   * Identifies this plan in the apply request; empty if nothing was planned
   */
  key: string;
  /**
   * Whether the entry runs a package: npx, uvx or an image
   */
  known: boolean;
  /**
   * Newest version in the registry if it was queried, now or by the daily search for updates; for an image, the digest of its tag there
   */
  latest: string;
  launcher: '' | 'npx' | 'uvx' | 'image';
  package: string;
  /**
   * What pinning would write; empty if there is nothing to pin
   */
  pin: string;
  /**
   * Whether the entry specifies a fixed version
   */
  pinned: boolean;
  server: string;
  /**
   * Name and version that the candidate reports
   */
  serverInfo: {
    [k: string]: unknown;
  };
  /**
   * Source of version: cache is the newest that was downloaded, server is what the server reports, image is what the image's tag refers to on this machine
   */
  source: '' | 'configuration' | 'process' | 'cache' | 'server' | 'container' | 'image';
  /**
   * New value in the configuration
   */
  to: string;
  /**
   * Context size of the server's tools now, an estimate; 0 if they are not listed
   */
  tokens: number;
  /**
   * That of its tools in the other version
   */
  tokensThen: number;
  /**
   * How long the trial took
   */
  trialNs: number;
  /**
   * Running version, if known
   */
  version: string;
}
