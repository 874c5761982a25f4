export interface SharedServer {
  label: string;
  state: 'new' | 'exists' | 'rejected';
  reason: string;
  command: string[];
  url: string;
  secrets: string[];
  variables: string[];
}

export interface SharedProfile {
  name: string;
  state: 'new' | 'exists' | 'rejected';
  reason: string;
}

/** What taking a shared file would change, or has changed. */
export interface SharedImport {
  servers: SharedServer[];
  profiles: SharedProfile[];
  diff: string;
  /** Secrets that have to be given. */
  missingSecrets: string[];
  /** Secrets of this computer that the new servers would get. */
  storedSecrets: string[];
  done: boolean;
  newSecrets: string[];
  /** The copy of the configuration as it was before. */
  backup: string;
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

export interface RestoredConfig {
  backup: string;
  etag: string;
}
