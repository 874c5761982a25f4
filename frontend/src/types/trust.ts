/** A sign of an attack in a tool's definition. */
export interface ToolWarning {
  code: string;
  reason: string;
  where: string;
  quote: string;
}

/** A tool, or a server's instructions, that is withheld from clients. */
export interface ToolChange {
  server: string;
  kind: 'tool' | 'instructions';
  name: string;
  at: string;
  state: 'waiting' | 'blocked' | 'added' | 'changed' | 'removed';
  oldHash: string;
  newHash: string;
  diff: { op: 'same' | 'old' | 'new' | 'gap'; text: string }[] | null;
  warnings: ToolWarning[] | null;
}

/** What is to be said of a tool besides its definition. */
export interface ToolTrust {
  server: string;
  /** "" for the server's instructions. */
  tool: string;
  publicName: string;
  new: boolean;
  firstAt: string;
  always: boolean;
  withheld?: string;
  hash: string;
  warnings: ToolWarning[] | null;
}

/** Something that happened to a definition. */
export interface ToolEvent {
  id: number;
  at: string;
  server: string;
  kind: string;
  name: string;
  what: string;
  detail: string;
  oldHash: string;
  newHash: string;
}

/** The package that a server runs. */
export interface ServerVersion {
  server: string;
  known: boolean;
  launcher: string;
  package: string;
  configured: string;
  pinned: boolean;
  version: string;
  source: '' | 'configuration' | 'process' | 'cache' | 'server' | 'container' | 'image';
  latest: string;
  pin: string;
  earlier: { configured: string; until: string }[] | null;
}

/** What another version would change. */
export interface VersionPlan extends ServerVersion {
  key: string;
  from: string;
  to: string;
  changes: ToolChange[] | null;
  applied: boolean;
}
