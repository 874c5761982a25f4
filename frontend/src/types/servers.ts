import type { ProcessUsage, ServerStatus } from './api';

/** What one server takes of this computer. */
export interface ServerUse {
  server: string;
  rssBytes: number;
  cpuPercent: number;
  processes: number;
}

/** One message between us and a server. */
export interface Frame {
  at: string;
  sent: boolean;
  text: string;
  bytes: number;
  http?: string;
}

/** Moments are of year 1, and durations 0, for "not yet". */
export interface Timings {
  began: string;
  startTookNs: number;
  listedAt: string;
  lastMessage: string;
  lastCall: string;
  pingTookNs: number;
  nextLaunchNs: number;
}

/** Everything that helps to see why a server does not do what it should. */
export interface Debug {
  status: ServerStatus;
  configured: string;
  path?: string;
  searchPath?: string;
  dir?: string;
  environment: string[] | null;
  processes: ProcessUsage[] | null;
  capabilities?: unknown;
  instructions?: string;
  bothEras: boolean;
  stderr: string[] | null;
  frames: Frame[] | null;
  timings: Timings;
  hints?: string[] | null;
  session?: string;
  start?: string;
  framing?: string;
}
