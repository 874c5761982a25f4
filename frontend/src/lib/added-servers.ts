/** The time within which the notice of a new command arrives. */
const soonMs = 30_000;
const added = new Map<string, { at: number; message?: string }>();

/** Remembers servers that the user adds on this page, where their commands are shown. */
export function rememberAddedServers(names: string[], now = Date.now()): void {
  for (const name of names) added.set(name.toLowerCase(), { at: now });
}

/**
 * Whether a notice only reports the new command of such a server. This is true once and for a short
 * time: later changes of the command are shown.
 */
export function isNoticeOfAddedServer(subject: string, message: string, now = Date.now()): boolean {
  if (!subject.startsWith('command:')) return false;
  const one = added.get(subject.slice('command:'.length).toLowerCase());
  if (!one || now - one.at >= soonMs) return false;
  one.message ??= message;
  return one.message === message;
}
