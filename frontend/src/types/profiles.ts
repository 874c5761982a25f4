/** How tools are listed. */
export type ToolMode = 'all' | 'search' | 'deferred';

export interface Modes {
  all: number;
  search: number;
  deferred: number;
}

/** A named view over servers and tools; the one without a name is everything. */
export interface Profile {
  name: string;
  description: string;
  address: string;
  toolMode: ToolMode;
  folders: string[];
  clients: string[];
  servers: string[];
  everyServer: boolean;
  tools: number;
  /** Its object in the configuration. */
  entry: unknown;
  etag: string;
  tokens: Modes;
}

/** What the configuration says of one client; empty is nothing. */
export interface ClientView {
  token: string;
  profile: string;
  toolMode: '' | ToolMode;
}

export interface Profiles {
  items: Profile[];
  clients: ClientView[];
}

export interface HiddenTool {
  server: string;
  tool: string;
}
