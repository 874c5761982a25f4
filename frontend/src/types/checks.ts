import type { Outcome } from './api';

/** What a call of a check has to give. All that is set has to hold. */
export interface Expect {
  outcome?: Outcome;
  contains?: string[] | null;
  /** JSON text: the whole result. */
  result?: string;
  maxTookNs?: number;
}

export interface CheckStep {
  server: string;
  tool: string;
  /** JSON text: an object. */
  arguments?: string;
  expect: Expect;
}

/** How the newest run of a check went. */
export interface LastRun {
  at: string;
  ok: boolean;
  failed: number;
  /** Who ran it: the user, or the server whose version or tools changed. */
  trigger: string;
}

/** When a check runs by itself; '' is: when all its tools only read. */
export type Auto = '' | 'on' | 'off';

export interface SavedCheck {
  name: string;
  steps: CheckStep[];
  auto?: Auto;
  last?: LastRun;
}

export interface Change {
  /** JSON Pointer, '' for the whole. */
  path: string;
  kind: string;
  before?: string;
  after?: string;
}

export interface StepReport {
  server: string;
  tool: string;
  ok: boolean;
  outcome: Outcome;
  tookNs: number;
  callId: string;
  failures: string[];
  changes?: Change[] | null;
}

export interface CheckReport {
  name: string;
  ok: boolean;
  steps: StepReport[];
}
