/** One server of a client, and what it becomes. */
export interface ImportableServer {
  name: string;
  scope: string;
  label: string;
  /** JSON text */
  entry: string;
  exists: boolean;
  alsoIn: string[] | null;
  notes: string[] | null;
  /** Why it cannot be taken over. */
  skipReason: string;
  /** The secrets that will be stored for it. */
  secrets?: string[] | null;
}

export interface Feature {
  name: string;
  how: string;
  note?: string;
}

/** What passes end to end between one client and each server. */
export interface ClientFeatures {
  token: string;
  name: string;
  version: string;
  era: string;
  protocolVersion: string;
  lastSeen: string;
  servers: { server: string; era: string; known: boolean; features: Feature[] | null }[] | null;
}

/** What taking over the servers of all clients changes. */
export interface TakeoverPlan {
  servers: number;
  clients: TakeoverClient[] | null;
  skipped: TakeoverSkip[] | null;
  /** Names what is shown, for the request that carries it out. */
  plan: string;
}

export interface TakeoverClient {
  key: string;
  name: string;
  path: string;
  servers: number;
  /** Secrets are masked. */
  diff: string;
  warnings: string[] | null;
}

export interface TakeoverSkip {
  client: string;
  reason: string;
}

/** What became of one client. */
export interface TakeoverResult {
  key: string;
  name: string;
  servers: number;
  /** Why it was left as it was; '' when it is done. */
  error: string;
  /** What to do for the client to notice. */
  reload: string;
}

export interface TakeoverUndone {
  key: string;
  result: string;
  error: string;
}
