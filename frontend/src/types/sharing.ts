export interface SharedServer {
  label: string;
  state: 'new' | 'there' | 'refused';
  why: string;
  command: string[];
  url: string;
  secrets: string[];
  variables: string[];
}

export interface SharedProfile {
  name: string;
  state: 'new' | 'there' | 'refused';
  why: string;
}

/** What taking a shared file would change, or has changed. */
export interface Taking {
  servers: SharedServer[];
  profiles: SharedProfile[];
  diff: string;
  /** Secrets that have to be given. */
  needs: string[];
  /** Secrets of this computer that the new servers would get. */
  uses: string[];
  done: boolean;
  stored: string[];
  /** The copy of the configuration as it was before. */
  undo: string;
  etag: string;
}

export interface ConfigCopy {
  name: string;
  at: string;
  bytes: number;
  /** It says what the file says now. */
  current: boolean;
}

export interface ConfigCopyText {
  name: string;
  text: string;
  diff: string;
  etag: string;
  problems: { message: string; warning: boolean }[];
}

export interface PutBack {
  undo: string;
  etag: string;
}
