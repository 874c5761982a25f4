/** The time within which the notice of a new command arrives. */
const soonMs = 30_000;
const added = new Map<string, { at: number; message?: string }>();

/** Remembers servers that the user adds on this page, where their commands are shown. */
export function rememberAddedServers(names: string[], now = Date.now()): void {
  for (const name of names) added.set(name.toLowerCase(), { at: now });
}

let importing: { at: number; known: Set<string> } | undefined;

/** Remembers that the user imports servers on this page: all but the known ones, by id and label. */
export function rememberImport(known: string[], now = Date.now()): void {
  importing = { at: now, known: new Set(known.map((name) => name.toLowerCase())) };
}

/**
 * Whether a notice only reports the new command of such a server. This is true once and for a short
 * time: later changes of the command are shown.
 */
export function isNoticeOfAddedServer(subject: string, message: string, now = Date.now()): boolean {
  if (!subject.startsWith('command:')) return false;
  const name = subject.slice('command:'.length).toLowerCase();
  if (importing && now - importing.at < soonMs && !importing.known.has(name) && !added.has(name))
    added.set(name, { at: importing.at });
  const one = added.get(name);
  if (!one || now - one.at >= soonMs) return false;
  one.message ??= message;
  return one.message === message;
}
