import type { Problem, Tool } from './api';

/** How a throwaway start of a server went. */
export interface TestResult {
  ok: boolean;
  stage: 'configuration' | 'start' | 'connect' | 'done';
  error: string;
  hint: string;
  code: string;
  /** needed: it answers, and wants the user to sign in. */
  login: '' | 'needed';
  problems: Problem[] | null;
  command: string;
  tookNs: number;
  era: string;
  protocolVersion: string;
  serverInfo?: unknown;
  instructions: string;
  tools: Tool[] | null;
  prompts: unknown[] | null;
  resources: unknown[] | null;
  warnings: string[] | null;
  log: string[] | null;
}

export interface Container {
  id: string;
  name: string;
  image: string;
  state: string;
  status: string;
  project: string;
  service: string;
  servers: string[] | null;
  managed: boolean;
}

export interface DockerState {
  engine: {
    state: 'ok' | 'absent' | 'refused';
    message: string;
    hint: string;
    address: string;
    context: string;
    version: string;
  };
  containers: Container[] | null;
}

/** What is inside of a container. */
export interface ContainerInside {
  id: string;
  name: string;
  image: string;
  state: string;
  user: string;
  workdir: string;
  shell: boolean;
  programs: { name: string; path: string }[] | null;
  processes: { pid: number; user: string; command: string }[] | null;
  suggestions: { title: string; entry: string }[] | null;
}
