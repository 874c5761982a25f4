/** What the history answers: counts, sums, sessions, and what is kept. */

export interface Facet {
  value: string;
  /** Of a tool. */
  server?: string;
  calls: number;
}

export interface Facets {
  total: number;
  servers: Facet[];
  tools: Facet[];
  clients: Facet[];
  outcomes: Facet[];
  /** Only so many of the newest calls were counted. */
  newest?: number;
}

/** What happened in one session of a client. */
export interface Session {
  session: string;
  client: string;
  clientVersion: string;
  token: string;
  workspace: string;
  first: string;
  last: string;
  calls: number;
  errors: number;
}

/** What was called under one name. Durations are at most 4.5 % off. */
export interface Use {
  server?: string;
  tool?: string;
  client?: string;
  token?: string;
  at?: string;
  calls: number;
  errors: number;
  p50Ns: number;
  p95Ns: number;
  p99Ns: number;
  meanNs: number;
  lastUsed?: string;
}

export interface UsageReport {
  from: string;
  to: string;
  total: Use;
  servers: Use[];
  tools: Use[];
  clients: Use[];
  /** In the order of time; where nothing was called there is no entry. */
  series: Use[];
  seriesNs: number;
}

export type Keeping = 'full' | 'meta' | 'off';

/** What is kept of the calls of a server, or of one tool of it. */
export interface Rule {
  server: string;
  tool?: string;
  record: Keeping;
}

export interface Recording {
  paused: boolean;
  rules?: Rule[] | null;
}

export interface HistoryState {
  calls: number;
  bytes: number;
  freeBytes: number;
  indexPending: number;
  /** Calls that are too old by the clock, which leapt. */
  clockHold?: { calls: number; from: string; until: string };
  /** Every call before it is indexed; absent when all are. */
  indexedUpTo?: string;
  recorder: { state: string; queued: number; dropped: number };
  recording: Recording;
  keepDays: number;
  maxBytes: number;
}

/** What bounds of the history would delete. */
export interface RetentionPreview {
  calls: number;
  /** Of so many that there are. */
  total: number;
  /** Whether `calls` is an estimate. */
  estimated: boolean;
  from?: string;
  to?: string;
}

/** What the user wrote to a call. */
export interface Note {
  title: string;
  note: string;
  tags: string[] | null;
}

/** One message of a session, kept while debugging is on. */
export interface SessionFrame {
  id: string;
  at: string;
  from: 'client' | 'server' | 'drawbridge';
  bytes: number;
  text: string;
}
