// The JSON of the daemon's API. Where a field says "JSON text" it holds JSON inside
// a string, so that no number passes through a JavaScript number on its way here.
import type { Note } from './history';

export type State =
  | 'stopped'
  | 'starting'
  | 'running'
  | 'degraded'
  | 'waiting'
  | 'backoff'
  | 'crashed'
  | 'needs-login'
  | 'needs-approval'
  | 'disabled';

export type Transport = 'stdio' | 'docker' | 'http' | 'sse';

export interface ServerStatus {
  id: string;
  label: string;
  /** The user's words. */
  tags?: string[];
  transport: Transport;
  state: State;
  reason: string;
  /** What to do about the reason, where that is known. */
  hint?: string;
  detail?: string;
  since: string;
  updated: string;
  era?: string;
  protocolVersion?: string;
  serverInfo?: unknown;
  pid?: number;
  tools: number;
  prompts: number;
  resources: number;
  templates: number;
  warnings?: string[] | null;
  restarts: number;
  inFlight: number;
  command?: string;
  exitCode?: number | null;
  /** The last lines that it wrote to stderr, when it does not run. */
  stderr?: string[] | null;
  instances?: Instance[] | null;
  login?: Login;
}

/** How it stands with signing in to a remote server. */
export type Login = '' | 'needed' | 'more' | 'done';

/** A sign-in that waits for the user. */
export interface LoginPending {
  url: string;
  host: string;
  issuer: string;
  scopes?: string[] | null;
  expiresAt: string;
}

export interface LoginStatus {
  state: Login;
  reason: string;
  pending?: LoginPending | null;
  failed?: string;
  issuer?: string;
  scopes?: string[] | null;
  since?: string;
  expires?: string;
  renews: boolean;
}

/** One process of a server that runs more than one: for a client, a session or a folder. */
export interface Instance {
  name: string;
  state: State;
  reason: string;
  since: string;
  pid?: number;
  workspace?: string;
  inFlight: number;
}

export interface LogLine {
  at: string;
  level: string;
  text: string;
}

export interface ProcessUsage {
  pid: number;
  ppid: number;
  name: string;
  rssBytes: number;
}

export interface Usage {
  rssBytes: number;
  cpuPercent: number;
  tree?: ProcessUsage[] | null;
}

export interface ServerDetail extends ServerStatus {
  log?: LogLine[] | null;
  usage?: Usage | null;
}

export interface Problem {
  file: string;
  line: number;
  column: number;
  key: string;
  message: string;
  suggestion: string;
  warning: boolean;
  server: string;
}

/** Something the user should know that is not a configuration problem. */
export interface Notice {
  subject: string;
  message: string;
}

export interface RecorderStatus {
  state: string;
  queued: number;
  dropped: number;
}

export interface Status {
  version: string;
  url: string;
  startedAt: string;
  configPath: string;
  problems?: Problem[] | null;
  requireToken: boolean;
  recorder: RecorderStatus;
  notices?: Notice[] | null;
  servers?: ServerStatus[] | null;
  /** How many tools clients see, by the id of a server whose configuration hides some. */
  visibleTools?: Record<string, number> | null;
}

/** How a call ended; "" while it runs. */
export type Outcome =
  | ''
  | 'ok'
  | 'tool_error'
  | 'protocol_error'
  | 'timeout'
  | 'cancelled'
  | 'rejected';

export interface Call {
  id: string;
  at: string;
  client: string;
  clientVersion: string;
  token: string;
  session: string;
  era: string;
  server: string;
  tool: string;
  publicName: string;
  method: string;
  fromServer: boolean;
  outcome: Outcome;
  code: string;
  reason: string;
  tookNs: number;
  queuedNs: number;
  bytesIn: number;
  bytesOut: number;
  attempts: number;
  instance: string;
  progress: number;
  traceId: string;
  /** The folder that the client worked in. */
  workspace?: string;
}

export interface CallDetail extends Call {
  /** JSON text */
  arguments?: string;
  /** JSON text */
  result?: string;
  /** JSON text */
  error?: string;
  /** Where a mistake of ours happened that ended the call. */
  stack?: string;
  /** Set when the arguments are longer than what was kept. */
  argumentsCut?: Cut;
  /** Set when the result or error is longer than what was kept. */
  replyCut?: Cut;
  /** What of the result does not fit the tool's schema. */
  invalid?: string;
  /** What the user wrote to it. */
  note?: Note;
}

export interface Cut {
  /** Bytes of the whole. */
  size: number;
  sha256?: string;
}

export interface Tool {
  name: string;
  server: string;
  tool: string;
  title: string;
  description: string;
  /** JSON text */
  inputSchema: string;
  /** JSON text */
  outputSchema: string;
  /** JSON text */
  annotations: string;
  /** JSON text */
  raw: string;
}

export interface Client {
  token: string;
  /** There is such a token now. */
  hasToken: boolean;
  name: string;
  version: string;
  sessions: number;
  lastSeen?: string;
  calls: number;
}

/** Something that waits for the user; all words in it are a server's or a client's. */
export interface Question {
  id: string;
  /**
   * form: fill in what schema says. url: open the address and come back. command: may
   * it run? call: may this client call this tool?
   */
  kind: 'form' | 'url' | 'command' | 'call' | 'tools';
  server: string;
  client?: { token?: string; name?: string; version?: string } | null;
  tool: string;
  message: string;
  url?: string;
  /** JSON text */
  schema?: string;
  at: string;
  /** 0001-… of a command, which waits as long as it stands in the configuration. */
  expires: string;
  /** "" while it waits. */
  state: string;
}

/** A client's call that waits for approval. */
export interface CallQuestion extends Question {
  /** JSON text; only its beginning when argumentsCut. */
  arguments?: string;
  argumentsSize?: number;
  argumentsCut?: boolean;
  /** The tool as its server knows it. */
  original?: string;
  callId?: string;
  /** Which rule asks. */
  rule?: string;
  /** Whether the call belongs to a session. */
  session?: boolean;
  effect?: 'destructive' | 'read-only' | 'unknown';
}

/** A command that waits for approval. */
export interface CommandQuestion extends Question {
  command?: { commandLine: string; previous: string; environment: string[] | null; cwd: string };
}

/** A client application of this machine, and whether it is connected. */
export interface Connection {
  key: string;
  id: string;
  name: string;
  kind: string;
  project: string;
  path: string;
  detected: boolean;
  state: 'notConnected' | 'connected' | 'vanished' | 'changed' | 'unreadable';
  connected: boolean;
  problem: string;
  http: boolean;
  supportsHttp: boolean;
  reload: string;
  maxTools: number;
  tested: boolean;
}

/** What is known of a connection while the daemon runs. */
export interface LiveConnection extends Connection {
  /** It shook hands with us since it was connected. */
  live?: boolean;
  /** How many tools it was shown last; 0 before it listed. */
  tools?: number;
  /** What to do now for this client; "" when it is live. */
  next?: string;
  warnings?: string[] | null;
}

/** What connecting changes in the client's file. */
export interface ConnectionPlan {
  key: string;
  path: string;
  action: string;
  diff: string;
  warnings?: string[] | null;
  reload: string;
}

export interface ConfigFile {
  path: string;
  text: string;
  etag: string;
  problems?: Problem[] | null;
}

export interface List<T> {
  items: T[] | null;
  next: string;
}

/** The first message of the event stream. */
export interface Snapshot {
  status: Status;
  calls?: Call[] | null;
  /** What waits for the user. */
  approvals?: Question[] | null;
}

/** RFC 9457, with our additions. */
export interface ProblemDocument {
  title?: string;
  status?: number;
  detail?: string;
  code?: string;
  hint?: string;
  errors?: { field?: string; error?: string; message?: string; location?: string }[];
}
