import { moment } from '@/lib/format';
import type { Client } from '@/types/api';

const onlineWindowMs = 5 * 60_000;

/**
 * Whether a client is online; newer protocols have no sessions, so a recent call counts, too, unless it was
 * disconnected since.
 */
export function isOnline(
  { sessions, lastSeen, left }: Pick<Client, 'sessions' | 'lastSeen'> & { left?: string },
  now: number,
): boolean {
  const seen = moment(lastSeen) ?? 0;
  return sessions > 0 || (now - seen < onlineWindowMs && seen > (moment(left) ?? 0));
}
