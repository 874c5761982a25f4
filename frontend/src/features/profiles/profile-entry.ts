import type { ToolMode } from '@/types/api';

/** What a profile offers of one server, as in the configuration. */
export interface ServerEntry {
  includeTools?: string[];
  excludeTools?: string[];
  prompts?: boolean;
  resources?: boolean;
}

/** A profile as in the configuration. Without `servers` it includes all servers. */
export interface Entry {
  description?: string;
  servers?: Record<string, ServerEntry>;
  toolMode?: ToolMode;
  folders?: string[];
  /** The chosen accounts by server. */
  accounts?: Record<string, string>;
}

/** Reads an entry from the daemon, which is an object or its JSON text. */
export function readEntry(raw: unknown): Entry {
  try {
    const value = typeof raw === 'string' ? JSON.parse(raw) : raw;
    return typeof value === 'object' && value !== null ? (value as Entry) : {};
  } catch {
    return {};
  }
}

/** Whether a name matches a pattern: '*' matches any characters, '?' exactly one. */
export function matches(pattern: string, name: string): boolean {
  let [p, n, star, back] = [0, 0, -1, 0];
  while (n < name.length) {
    if (pattern[p] === '*') {
      star = p++;
      back = n;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++back;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(p));
}

const fits = (patterns: string[] | undefined, name: string): boolean =>
  (patterns ?? []).some((pattern) => matches(pattern, name));

/** Whether a profile offers a tool; `tool` is the server's own name for it. */
export function offers(entry: Entry, server: string, tool: string): boolean {
  if (!entry.servers) return true;
  const of = entry.servers[server];
  if (!of || fits(of.excludeTools, tool)) return false;
  return !of.includeTools || fits(of.includeTools, tool);
}

/** Patterns that match exactly the wanted names; old patterns that match no others are kept. */
function patternsFor(old: string[] | undefined, wanted: Set<string>, all: string[]): string[] {
  const kept = (old ?? []).filter((pattern) =>
    all.every((name) => wanted.has(name) || !matches(pattern, name)),
  );
  return [...kept, ...all.filter((name) => wanted.has(name) && !fits(kept, name))];
}

/** The entry of a server that offers exactly the wanted tools; undefined for none. */
function entryFor(
  old: ServerEntry | undefined,
  wanted: Set<string>,
  all: string[],
): ServerEntry | undefined {
  if (wanted.size === 0) return undefined;
  const { includeTools, excludeTools, ...rest } = old ?? {};
  if (all.every((name) => wanted.has(name))) return rest;
  if (old && !includeTools) {
    const out = new Set(all.filter((name) => !wanted.has(name)));
    return { ...rest, excludeTools: patternsFor(excludeTools, out, all) };
  }
  const left = (excludeTools ?? []).filter(
    (pattern) => ![...wanted].some((n) => matches(pattern, n)),
  );
  return {
    ...rest,
    includeTools: patternsFor(includeTools, wanted, all),
    ...(left.length > 0 ? { excludeTools: left } : {}),
  };
}

/** The known tools by server. */
export type Known = Map<string, string[]>;

/** The profile with all known servers listed, so that single ones can be removed. */
export function withAllServersListed(entry: Entry, known: Known): Entry {
  if (entry.servers) return entry;
  return { ...entry, servers: Object.fromEntries([...known.keys()].map((id) => [id, {}])) };
}

/** Adds or removes tools of a server. A server without tools is removed. */
export function switchTools(
  entry: Entry,
  known: Known,
  server: string,
  names: Iterable<string>,
  on: boolean,
): Entry {
  const all = known.get(server) ?? [];
  const wanted = new Set(all.filter((name) => offers(entry, server, name)));
  for (const name of names) {
    if (on) wanted.add(name);
    else wanted.delete(name);
  }
  const start = withAllServersListed(entry, known);
  const { [server]: old, ...others } = start.servers ?? {};
  const next = entryFor(old, wanted, all);
  return { ...start, servers: next ? { ...others, [server]: next } : others };
}

/** Chooses the account of a server; '' is no choice. An empty object removes the choices in the file. */
export function chooseAccount(entry: Entry, server: string, account: string): Entry {
  const { [server]: _, ...others } = entry.accounts ?? {};
  return { ...entry, accounts: account ? { ...others, [server]: account } : others };
}

/** A normalized text: it is the same for equivalent entries. */
export function textOf(entry: Entry): string {
  const sort = (list: string[] | undefined) => (list?.length ? [...list].sort() : undefined);
  const servers =
    entry.servers && Object.entries(entry.servers).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({
    description: entry.description || undefined,
    toolMode: entry.toolMode === 'all' ? undefined : entry.toolMode,
    folders: entry.folders?.length ? entry.folders : undefined,
    accounts: Object.entries(entry.accounts ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
    servers: servers?.map(([id, s]) => [
      id,
      sort(s.includeTools),
      sort(s.excludeTools),
      s.prompts === false,
      s.resources === false,
    ]),
  });
}
