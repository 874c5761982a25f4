/** How long the notice of a new command may take to come. */
const soonMs = 30_000;
const added = new Map<string, { at: number; message?: string }>();

/** Remembers servers that the user adds in this page, having seen their commands. */
export function rememberAddedServers(names: string[], now = Date.now()): void {
  for (const name of names) added.set(name.toLowerCase(), { at: now });
}

/**
 * Whether a notice only says that such a server runs a new command. That is one notice,
 * and not for long: who changes the command after that is to be seen.
 */
export function isNoticeOfAddedServer(subject: string, message: string, now = Date.now()): boolean {
  if (!subject.startsWith('command:')) return false;
  const one = added.get(subject.slice('command:'.length).toLowerCase());
  if (!one || now - one.at >= soonMs) return false;
  one.message ??= message;
  return one.message === message;
}
