import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Connection, EventStream } from '@/lib/event-stream';

type Line = Pick<EventStream, 'getConnection' | 'subscribe' | 'retryNow'>;

const silent: Line = {
  getConnection: () => still,
  subscribe: () => () => undefined,
  retryNow: () => undefined,
};
const still: Connection = { phase: 'live', retryAt: 0, epoch: 0 };

export const ConnectionContext = createContext<Line>(silent);

/** The state of the connection to the daemon, and a function that retries immediately. */
export function useConnection(): Connection & { retryNow: () => void } {
  const line = useContext(ConnectionContext);
  const connection = useSyncExternalStore(line.subscribe, line.getConnection);
  return { ...connection, retryNow: line.retryNow };
}
