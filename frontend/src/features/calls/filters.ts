import type { Call } from '@/types/api';

/** What the list shows; it lives in the address. All fields are optional there. */
export interface CallFilters {
  q?: string;
  server?: string;
  client?: string;
  tool?: string;
  session?: string;
  /** An outcome, "running", or "failed" for every bad end. */
  outcome?: string;
}

const failures = new Set(['tool_error', 'protocol_error', 'timeout', 'rejected']);

export function isFailure(call: Call): boolean {
  return failures.has(call.outcome);
}

/** Reads filters out of a query string; whatever is no filter is dropped. */
export function callFilters(search: Record<string, unknown>): CallFilters {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== ''
      ? value
      : typeof value === 'number'
        ? String(value)
        : undefined;
  };
  return {
    q: text('q'),
    server: text('server'),
    client: text('client'),
    tool: text('tool'),
    session: text('session'),
    outcome: text('outcome'),
  };
}

/** Whether a call passes every filter but the full text, which only the daemon can search. */
export function matchesCall(call: Call, filters: CallFilters): boolean {
  if (filters.server && call.server !== filters.server) return false;
  if (filters.client && call.client !== filters.client) return false;
  if (filters.tool && call.tool !== filters.tool) return false;
  if (filters.session && call.session !== filters.session) return false;
  switch (filters.outcome) {
    case undefined:
      return true;
    case 'running':
      return call.outcome === '';
    case 'failed':
      return isFailure(call);
    default:
      return call.outcome === filters.outcome;
  }
}

/** The query string for the daemon. "running" and "failed" are ours and filtered here. */
export function callQuery(filters: CallFilters, before: string, limit: number): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (before) query.set('before', before);
  for (const name of ['q', 'server', 'client', 'tool', 'session'] as const) {
    const value = filters[name];
    if (value) query.set(name, value);
  }
  if (filters.outcome && filters.outcome !== 'running' && filters.outcome !== 'failed') {
    query.set('outcome', filters.outcome);
  }
  return query.toString();
}
