import { isUnavailable } from '@/components/outcome-badge';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { bounds, type Span, setBounds, spanOf } from '@/lib/time-range';
import type { Call } from '@/types/api';
import { openTaskStatus } from './task-steps';

/** The filters of the list; they are stored in the URL, where all fields are optional. */
export interface CallFilters extends Span {
  q?: string;
  server?: string;
  client?: string;
  tool?: string;
  session?: string;
  workspace?: string;
  account?: string;
  /** A version of a server or its package, or a prefix of a definition's hash. */
  version?: string;
  tag?: string;
  /** An outcome, "running", or "failed" for every failure. */
  outcome?: string;
  /** The minimum duration of a call, in milliseconds. */
  slow?: string;
}

/** What the policy or the user rejected is no failure of a tool. */
export const failures = ['tool_error', 'protocol_error', 'timeout', 'unavailable'];

export const isFailure = (call: Call): boolean => failures.includes(call.outcome);

/** The filters with the same name in the API. */
const shared = [
  'q',
  'server',
  'client',
  'tool',
  'session',
  'workspace',
  'account',
  'tag',
  'version',
] as const;

/** Reads filters from a query string; other parameters are ignored. */
export function callFilters(search: Record<string, unknown>): CallFilters {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value !== ''
      ? value
      : typeof value === 'number'
        ? String(value)
        : undefined;
  };
  const filters: CallFilters = { ...spanOf(search), outcome: text('outcome') };
  for (const name of shared) filters[name] = text(name);
  const slow = Number(text('slow'));
  if (slow > 0) filters.slow = String(slow);
  return filters;
}

/** What the history stores in place of a secret. */
const redacted = '[redacted]';

/** Whether only calls with a redacted secret are searched for. */
export const seeksRedacted = ({ q = '' }: CallFilters): boolean => q.includes(redacted);

/** The search text with or without the mark of redacted secrets. */
export function seekRedacted({ q = '' }: CallFilters, on: boolean): string | undefined {
  const rest = q.replaceAll(redacted, ' ').replace(/ +/g, ' ').trim();
  return (on ? `${rest} ${redacted}`.trim() : rest) || undefined;
}

const tokenNames: Record<string, keyof CallFilters> = {
  server: 'server',
  tool: 'tool',
  client: 'client',
  session: 'session',
  folder: 'workspace',
  account: 'account',
  version: 'version',
  tag: 'tag',
  outcome: 'outcome',
};
const units = { ms: 1, s: 1000, m: 60_000 };

/**
 * Extracts filters such as server:files, outcome:error, took:>1s or client:"Claude Code" from a
 * text, like `drawbridge history`. A filter is complete only if it is followed by a space.
 */
export function readTokens(text: string): { found: CallFilters; rest: string } {
  const found: CallFilters = {};
  const rest = text.replace(
    /(^|\s)([a-z]+):("[^"]*"|[^\s"]+)(?=\s)/g,
    (token, _, name: string, raw: string) => {
      const value = raw.replaceAll('"', '');
      const key = Object.hasOwn(tokenNames, name) ? tokenNames[name] : undefined;
      const took = name === 'took' && /^>(\d+(?:\.\d+)?)(ms|s|m)$/.exec(value);
      if (took) found.slow = String(Number(took[1]) * units[took[2] as keyof typeof units]);
      else if (key && value) {
        const error = key === 'outcome' && value === 'error';
        found[key] = (error ? 'tool_error' : value) as CallFilters['range'];
      } else return token;
      return '';
    },
  );
  return { found, rest: Object.keys(found).length > 0 ? rest.trim() : text };
}

/** Whether a call matches all filters except full text and tag, which only the daemon can check. */
export function matchesCall(call: Call, filters: CallFilters, now = Date.now()): boolean {
  for (const name of ['server', 'client', 'tool', 'session', 'workspace', 'account'] as const) {
    if (filters[name] && call[name] !== filters[name]) return false;
  }
  if (filters.version && !isServedBy(call, filters.version)) return false;
  if (filters.slow && call.tookNs < Number(filters.slow) * 1e6) return false;
  const { from, to } = bounds(filters, now);
  if (from !== undefined || to !== undefined) {
    const at = Date.parse(call.at);
    if (from !== undefined && at < from) return false;
    if (to !== undefined && at >= to) return false;
  }
  switch (filters.outcome) {
    case undefined:
      return true;
    case 'running':
      return call.outcome === '';
    case 'failed':
      return isFailure(call);
    default:
      return outcomeOf(call) === filters.outcome;
  }
}

/** The value of the outcome filter that selects a call: the state of its task until that has ended. */
function outcomeOf(call: Call): string {
  const status = call.outcome === 'ok' ? openTaskStatus(call) : undefined;
  if (status === undefined) return isUnavailable(call) ? 'unavailable' : call.outcome;
  return status === 'expired' || status === 'input_required' ? status : 'working';
}

/** The text of a value of the outcome filter. */
export function outcomeText(value: string): string {
  if (value === 'failed') return 'Failed';
  return (
    ownValue<string>(texts.outcomes, value) ?? ownValue<string>(texts.taskStates, value) ?? value
  );
}

/** Whether a version handled a call; the same comparison as in the daemon. */
function isServedBy({ servedBy: by }: Call, version: string): boolean {
  if (!by) return false;
  return (
    by.version === version ||
    by.package === version ||
    by.package.endsWith(`@${version}`) ||
    (version.length >= 8 && by.definition.startsWith(version.toLowerCase()))
  );
}

/** The text to search for: the last word may not have been typed to its end. */
export const searchText = (q: string): string => q.replace(/[\p{L}\p{N}]{3}$/u, '$&*');

/** The filters as query parameters of the API. The page itself filters "running". */
export function filterQuery(filters: CallFilters, now = Date.now()): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of shared) {
    const value = filters[name];
    if (value) query.set(name, name === 'q' ? searchText(value) : value);
  }
  setBounds(query, filters, now);
  if (filters.slow) query.set('minTookNs', String(Math.round(Number(filters.slow) * 1e6)));
  if (filters.outcome && filters.outcome !== 'running') query.set('outcome', filters.outcome);
  return query;
}

/** The query string for one page of the list. */
export function callQuery(filters: CallFilters, before: string, limit: number): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (before) query.set('before', before);
  for (const [name, value] of filterQuery(filters)) query.set(name, value);
  return query.toString();
}
