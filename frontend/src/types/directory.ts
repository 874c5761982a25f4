/** One thing that an installation asks for. */
export interface Field {
  key: string;
  label: string;
  description?: string;
  required: boolean;
  secret: boolean;
  default?: string;
  choices?: string[] | null;
  format?: string;
  placeholder?: string;
  /** Several values, one a line. */
  multiple?: boolean;
}

/** One way to install a server: a package that a program fetches, or an address. */
export interface InstallOption {
  title: string;
  /** npx, uvx, docker or dnx; none for an address. */
  launcher?: string;
  pinned: boolean;
  command: string[];
  fields: Field[];
}

export interface Installable {
  name: string;
  title: string;
  description: string;
  version: string;
  website: string;
  repository: string;
  curated: boolean;
  /** Why it cannot be installed; empty when it can. */
  refused: string;
  label: string;
  options: InstallOption[];
  installed: string[];
}

export interface Directory {
  items: Installable[];
  total: number;
  /** Of year 1 when it was never refreshed. */
  refreshedAt: string;
  address: string;
}

/** What the user sees of a bundle before anything of it is unpacked. */
export interface About {
  name: string;
  title: string;
  version: string;
  description: string;
  author: string;
  type: string;
  command: string[];
  variables: string[];
  files: number;
  bytes: number;
  sha256: string;
  folder: string;
  unpacked: boolean;
}

/** What an installation would write, or has written. */
export interface Installation {
  label: string;
  entry: string;
  command: string[];
  secrets: string[];
  fields: Field[];
  /** Keys of fields that have to be filled in first. */
  missing: string[];
  bundle?: About;
  done: boolean;
  id: string;
}

export interface Upload {
  id: string;
  received: number;
}
