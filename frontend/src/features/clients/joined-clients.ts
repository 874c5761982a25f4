import { moment } from '@/lib/format';
import type { Client, Connection } from '@/types/api';

/** One client: its program on this machine, its token, and its recorded activity. */
export interface JoinedClient {
  key: string;
  name: string;
  /** Empty for a client without a token. */
  token: string;
  hasToken: boolean;
  /** Its files on this machine. */
  connections: Connection[];
  /** The names and versions that it reports; the latest first. */
  reported: Client[];
  sessions: number;
  calls: number;
  lastSeen?: string;
  /** When it was disconnected, if it is not connected by another file. */
  left?: string;
}

/**
 * Joins the installed programs, the tokens and the recorded clients. A program connects with a token
 * that is named after it, so they are joined by token; clients without a token are joined by name.
 */
export function joinClients(
  connections: Connection[],
  clients: Client[],
  tokens: string[] = [],
  isGuest: (token: string) => boolean = () => false,
): JoinedClient[] {
  const all = new Map<string, JoinedClient>();
  const of = (token: string, name: string) => {
    const key = token ? `token/${token}` : `name/${name}`;
    const one = all.get(key) ?? {
      key,
      name,
      token,
      hasToken: false,
      connections: [],
      reported: [],
      sessions: 0,
      calls: 0,
    };
    all.set(key, one);
    return one;
  };
  for (const client of clients) {
    // Guests often run the same program, so they are named by their tokens.
    const name = isGuest(client.token) ? '' : client.name;
    const one = of(client.token, name || client.token || 'Unnamed');
    one.hasToken ||= client.hasToken;
    one.sessions += client.sessions;
    one.calls += client.calls;
    if (client.name) one.reported.push(client);
    if ((moment(client.lastSeen) ?? 0) > (moment(one.lastSeen) ?? 0))
      one.lastSeen = client.lastSeen as string;
  }
  for (const token of tokens) of(token, token);
  for (const connection of connections) {
    const shown = connection.detected || connection.state !== 'notConnected';
    if (!shown && !all.has(`token/${connection.id}`)) continue;
    const one = of(connection.id, connection.name);
    one.name = connection.name;
    if (shown) one.connections.push(connection);
    if ((moment(connection.lastSeen) ?? 0) > (moment(one.lastSeen) ?? 0))
      one.lastSeen = connection.lastSeen as string;
  }
  for (const one of all.values()) {
    const [first] = one.connections;
    if (first?.leftAt && one.connections.every(({ connected }) => !connected))
      one.left = first.leftAt;
    one.reported.sort((a, b) => (moment(b.lastSeen) ?? 0) - (moment(a.lastSeen) ?? 0));
  }
  return [...all.values()].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** Whether it has ever called or opened a session. */
export const wasSeen = ({ lastSeen, calls, sessions }: JoinedClient): boolean =>
  lastSeen !== undefined || calls > 0 || sessions > 0;

/** Clients that need attention first, then connected or active ones, then the others. */
function rank({ connections, calls, sessions }: JoinedClient): number {
  if (connections.some(({ state }) => !['connected', 'notConnected'].includes(state))) return 0;
  if (calls > 0 || sessions > 0 || connections.some(({ connected }) => connected)) return 1;
  return connections.length > 0 ? 2 : 3;
}
