import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { classes } from '@/lib/class-names';
import { age, count, escapeControlCharacters, exactTime, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import { clientsQuery, connectionsQuery } from './api';
import { joinClients, wasSeen } from './joined-clients';
import { isOnline } from './online';

const most = 6;

export const openSessions = (n: string) => (n === '1' ? '1 open session' : `${n} open sessions`);

/** The most recently seen clients, one per row. */
export function RecentClients() {
  const { data } = useQuery(clientsQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const now = useNow();
  const clients = joinClients(connections ?? [], data ?? [])
    .filter(wasSeen)
    .sort((a, b) => (moment(b.lastSeen) ?? 0) - (moment(a.lastSeen) ?? 0));
  if (clients.length === 0) {
    return (
      <p className="rounded-lg border border-dashed border-strong px-4 py-3 text-sm text-ink2">
        No client has made a call yet.{' '}
        <Link to="/clients" className="text-accent underline underline-offset-2">
          {texts.actions.connectClient}
        </Link>
      </p>
    );
  }
  return (
    <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
      {clients.slice(0, most).map((client) => {
        const online = isOnline(client, now);
        return (
          <li
            key={client.key}
            className="relative flex items-center gap-3 border-t px-4 py-1.5 text-sm first:border-t-0 hover:bg-hover"
          >
            <span
              className={classes(
                'size-2 shrink-0 rounded-full',
                online ? 'bg-ok' : 'border border-strong',
              )}
              aria-hidden
            />
            <Link
              to="/calls"
              search={{ client: client.reported[0]?.name || undefined }}
              className="min-w-0 flex-1 truncate font-medium outline-offset-[-2px] after:absolute after:inset-0"
            >
              {escapeControlCharacters(client.name.slice(0, 200))}
            </Link>
            <span
              className={classes('shrink-0', online ? 'text-ok' : 'text-ink3')}
              title={exactTime(client.lastSeen)}
            >
              {client.sessions > 0
                ? openSessions(count(client.sessions))
                : texts.servers.ago(age(client.lastSeen, now))}
            </span>
          </li>
        );
      })}
      {clients.length > most && (
        <li className="border-t px-4 py-1.5 text-sm">
          <Link to="/clients" className="text-accent underline-offset-2 hover:underline">
            {texts.more(clients.length - most)}
          </Link>
        </li>
      )}
    </ul>
  );
}
