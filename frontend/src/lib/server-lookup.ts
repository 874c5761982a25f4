import { createContext, useContext } from 'react';

/** The display name of each server by its id; the id itself if there is none. */
export const ServerNames = createContext<(id: string) => string>((id) => id);

export function useServerName(): (id: string) => string {
  return useContext(ServerNames);
}

/**
 * The id of the server that text names, as the daemon resolves it: the exact id, else the exact
 * name, else the only one that matches without regard to case, else the text itself.
 */
export function findServer(
  servers: (readonly [id: string, label: string])[],
  text: string,
): string {
  const lower = text.toLowerCase();
  const tests: ((id: string, label: string) => boolean)[] = [
    (id) => id === text,
    (_, label) => label === text,
    (id, label) => id.toLowerCase() === lower || label.toLowerCase() === lower,
  ];
  for (const fits of tests) {
    const found = servers.filter(([id, label]) => fits(id, label));
    if (found.length > 0) return found.length === 1 && found[0] ? found[0][0] : text;
  }
  return text;
}
