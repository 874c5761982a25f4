// The JSON of the daemon's API, as its OpenAPI document describes it. Added here are the values of
// strings that the document does not list, and our names. Where a field is described as JSON text
// it holds JSON inside a string, so that no number passes through a JavaScript number.
import type * as api from './api.gen';

export type * from './api.gen';

/** A type with some of its fields narrowed. */
type Narrow<T, Fields> = Omit<T, keyof Fields> & Fields;

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
  | 'paused'
  | 'disabled';

/** The state of the sign-in to a remote server. */
export type Login = '' | 'needed' | 'more' | 'done';

export type Instance = Narrow<api.Instance, { state: State }>;
interface ServerFields {
  transport: 'stdio' | 'docker' | 'http' | 'sse' | 'replay';
  state: State;
  login?: Login;
  instances?: Instance[] | null;
}
export type ServerStatus = Narrow<api.ServerStatus, ServerFields>;
export type RenamedServer = Narrow<api.RenamedServer, ServerFields>;
export type ServerDetail = Narrow<api.ServerDetail, ServerFields>;
export type Debug = Narrow<api.Debug, { status: ServerStatus }>;
export type LoginStatus = Narrow<api.LoginStatus, { state: Login }>;
export type Status = Narrow<api.Status, { servers?: ServerStatus[] | null }>;

export type Finding = Narrow<api.Finding, { level: 'ok' | 'warning' | 'problem' }>;

export type Outcome = api.Call['outcome'];

export type ToolMode = api.Profile['toolMode'];
export type Approving = api.ToolSettings['approval'];
export type Transport = ServerStatus['transport'];

export type Connection = Narrow<
  api.Connection,
  { state: 'notConnected' | 'connected' | 'vanished' | 'changed' | 'unreadable' }
>;

export type RecordMode = 'full' | 'meta' | 'off';
export type Rule = Narrow<api.Rule, { record: RecordMode }>;
export type RecordingSettings = Narrow<api.RecordingSettings, { rules?: Rule[] | null }>;
export type HistoryState = Narrow<api.HistoryState, { recording: RecordingSettings }>;

/** The first message of the event stream. */
export type Snapshot = Narrow<api.Snapshot, { status: Status }>;

export interface List<T> {
  items: T[] | null;
  next: string;
}

export type {
  Event as ToolEvent,
  Line as LogLine,
  Message as SessionFrame,
  Proc as ProcessUsage,
  Warning as ToolWarning,
} from './api.gen';
