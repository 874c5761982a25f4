/** How long the notice of a new command may take to come. */
const soonMs = 30_000;
const added = new Map<string, number>();

/** Remembers servers that a person adds in this page, having seen their commands. */
export function noteAdded(names: string[], now = Date.now()): void {
  for (const name of names) added.set(name.toLowerCase(), now);
}

/**
 * Whether a notice only says that such a server runs a new command. Not for long: who
 * changes the command later is to be seen.
 */
export function saysOnlyAdded(subject: string, now = Date.now()): boolean {
  if (!subject.startsWith('command:')) return false;
  const at = added.get(subject.slice('command:'.length).toLowerCase());
  return at !== undefined && now - at < soonMs;
}
