import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { GuardedItem, GuardedList } from '@/components/guarded-list';
import { ShowMore } from '@/components/more';
import { StateBadge, stateTone } from '@/components/state-badge';
import { age, count, escapeControlCharacters, sentence, withoutPosition } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { serversQuery, visibleToolsQuery } from './api';
import { RemedyButton } from './server-remedy';
import { ServerMenu } from './start-stop-buttons';

/**
 * Whether a server requires the user's attention, or soon may: by its state, or because it runs only
 * until its next failure. Its new command is an approval of its own.
 */
export function needsAttention({ state, reason }: ServerStatus): boolean {
  if (state === 'running') return Boolean(reason);
  return state !== 'needs-approval' && ['bad', 'warn'].includes(stateTone(state));
}

const isEnabled = ({ state }: ServerStatus) => state !== 'disabled';

/** "13 servers, 1 disabled": every view counts the enabled ones, as the tray does. */
export function serversText(servers: ServerStatus[]): string {
  const all = servers.filter(isEnabled).length;
  const rest = servers.length - all;
  return texts.connections.servers(all) + (rest > 0 ? `, ${count(rest)} disabled` : '');
}

export function useServerNumbers() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: visible } = useQuery(visibleToolsQuery);
  return {
    all: servers.filter(isEnabled).length,
    up: servers.filter((server) => server.state === 'running' || server.state === 'degraded')
      .length,
    tools: servers.reduce((sum, server) => sum + (visible?.[server.id] ?? server.tools), 0),
  };
}

const reasonOf = ({ reason, warnings, detail }: ServerStatus) =>
  escapeControlCharacters(sentence(withoutPosition(reason || warnings?.[0] || detail || '')));

/** The number of servers that are shown at first; there may be hundreds. */
const few = 8;

/** The servers that need attention, failed ones first, each with the reason and the most likely fix. */
export function Attention({ lead }: { lead?: ReactNode }) {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const [all, setAll] = useState(false);
  const now = useNow();
  const failed = (server: ServerStatus) => stateTone(server.state) === 'bad';
  const list = servers.filter(needsAttention).sort((a, b) => Number(failed(b)) - Number(failed(a)));
  if (list.length === 0 && !lead) return null;
  return (
    <section aria-labelledby="attention-title">
      <h2 id="attention-title" className="mb-2 text-sm font-semibold">
        Needs attention
      </h2>
      {lead}
      <GuardedList className="overflow-hidden rounded-lg border bg-panel shadow-card empty:hidden">
        {list.slice(0, all ? list.length : few).map((server) => (
          <GuardedItem
            key={server.id}
            id={server.id}
            className="relative flex flex-wrap items-center gap-x-3 gap-y-1 border-t py-2.5 pr-2 pl-4 first:border-t-0 hover:bg-hover"
          >
            <div className="min-w-0 flex-1 basis-44">
              <div className="flex flex-wrap items-center gap-x-3">
                <Link
                  to="/servers/$id"
                  params={{ id: server.id }}
                  className="min-w-0 font-semibold outline-offset-[-2px] [overflow-wrap:anywhere] after:absolute after:inset-0"
                >
                  {escapeControlCharacters(server.label || server.id)}
                </Link>
                <span className="inline-flex shrink-0 items-center gap-x-3">
                  <StateBadge state={server.state} />
                  <span className="text-xs text-ink3">{age(server.since, now)}</span>
                </span>
              </div>
              <p
                title={reasonOf(server)}
                className="line-clamp-2 text-sm text-ink2 [overflow-wrap:anywhere]"
              >
                {reasonOf(server)}
              </p>
            </div>
            <div className="relative z-10 ml-auto flex items-center gap-1">
              <RemedyButton server={server} />
              <ServerMenu server={server} />
            </div>
          </GuardedItem>
        ))}
        {list.length > few && (
          <li className="border-t px-4 py-1.5 text-sm">
            <ShowMore n={list.length - few} all={all} onToggle={setAll} />
          </li>
        )}
      </GuardedList>
    </section>
  );
}
