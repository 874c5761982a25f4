import { moment } from '@/lib/format';
import type { Client } from '@/types/api';

const onlineWindowMs = 5 * 60_000;

/** Whether a client is online; newer protocols have no sessions, so a recent call counts, too. */
export function isOnline(client: Pick<Client, 'sessions' | 'lastSeen'>, now: number): boolean {
  return client.sessions > 0 || now - (moment(client.lastSeen) ?? 0) < onlineWindowMs;
}
