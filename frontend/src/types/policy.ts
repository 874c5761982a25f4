import type { Keeping } from './history';

export interface ExplainCheck {
  name: string;
  result: 'pass' | 'refuse' | 'ask' | 'wait' | 'off';
  detail: string;
  /** The key of the configuration that decides, "" where none does. */
  key: string;
}

/** Whether a call would pass, check by check. */
export interface Explanation {
  server: string;
  tool: string;
  publicName: string;
  client: string;
  passes: boolean;
  checks: ExplainCheck[] | null;
  timeoutMs: number;
  maxRequestMs: number;
  attempts: number;
}

export type Approving = '' | 'never' | 'ask' | 'deny' | 'destructive';

/** What the configuration says of one tool; zero and empty are "not set". */
export interface ToolChoices {
  enabled?: boolean;
  rename?: string;
  description?: string;
  requestTimeoutMs?: number;
  maxRequestMs?: number;
  approval?: Approving;
  cacheTtlMs?: number;
  /** What is kept of its calls at most; it wins over the server's. */
  record?: Keeping | '';
}

/** One tool that a server has, also when it is not shown to clients. */
export interface ToolSetting {
  tool: string;
  publicName: string;
  title: string;
  description: string;
  shown: boolean;
  hiddenBy: string;
  readOnly?: boolean | null;
  destructive?: boolean | null;
  settings: ToolChoices;
}

export interface Grant {
  client: string;
  server: string;
  tool: string;
  until: string;
}
