import { createContext, useContext } from 'react';

/** What a person calls each server, by its id; the id itself where nobody knows better. */
export const ServerNames = createContext<(id: string) => string>((id) => id);

export function useServerName(): (id: string) => string {
  return useContext(ServerNames);
}
