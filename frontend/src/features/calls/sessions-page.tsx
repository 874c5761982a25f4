import { useQuery, useSuspenseInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Route } from 'lucide-react';
import { useMemo } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { NewItems } from '@/components/new-items';
import { Empty, PageHeader } from '@/components/page';
import { classes } from '@/lib/class-names';
import { clock, count, duration, escapeControlCharacters, moment, wellFormed } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import { useHeldList, useReading } from '@/lib/steady-list';
import { texts } from '@/lib/texts';
import type { Session } from '@/types/api';
import { erasuresQuery, sessionsQuery } from './api';
import { callsTexts } from './texts';

const idOf = ({ session }: Session) => session;

const openFirst = (sessions: Session[]) =>
  sessions.toSorted((a, b) => Number(b.open ?? false) - Number(a.open ?? false));

/** All sessions, one per row, open ones first. */
export function SessionsPage({ selected }: { selected: string | undefined }) {
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useSuspenseInfiniteQuery(sessionsQuery);
  const { reading, props: reader } = useReading();
  const { data: erasures } = useQuery(erasuresQuery);
  const {
    shown: sessions,
    newer,
    show,
  } = useHeldList(
    useMemo(() => openFirst(data.pages.flatMap((page) => page.items ?? [])), [data.pages]),
    idOf,
    reading || selected !== undefined,
    erasures,
  );
  return (
    <>
      <PageHeader title="Sessions" />
      <div className="relative h-0">
        <NewItems newer={newer} onShow={show} />
      </div>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6" {...reader}>
        {sessions.length === 0 ? (
          <Empty icon={Route} title="No sessions yet">
            <p>
              A session lists the calls of one client connection in order. Calls made with the
              drawbridge command have no session; find them under Calls.
            </p>
            <p className="mt-4">
              <Link to="/clients" className={buttonClasses('primary')}>
                {texts.actions.connectClient}
              </Link>
            </p>
          </Empty>
        ) : (
          <>
            <ul className="max-w-page overflow-hidden rounded-lg border bg-panel shadow-card">
              {sessions.map((session) => (
                <SessionRow
                  key={session.session}
                  session={session}
                  selected={session.session === selected}
                />
              ))}
            </ul>
            {hasNextPage && (
              <Button
                className="mt-3"
                disabled={isFetchingNextPage}
                onClick={() => fetchNextPage()}
              >
                Show more
              </Button>
            )}
          </>
        )}
      </div>
    </>
  );
}

const shownServers = 5;

function SessionRow({ session, selected }: { session: Session; selected: boolean }) {
  const labelOf = useServerName();
  const servers = (session.servers ?? []).map((server) =>
    escapeControlCharacters(labelOf(server).slice(0, 100)),
  );
  const now = useNow();
  return (
    <li
      className={classes(
        'relative border-t px-4 py-2.5 first:border-t-0',
        selected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <div className="flex items-baseline gap-3">
        <Link
          to="/sessions/$session"
          params={{ session: wellFormed(session.session) }}
          aria-current={selected || undefined}
          className="min-w-0 flex-1 truncate outline-offset-[-2px] after:absolute after:inset-0"
        >
          <span className="inline-block max-w-[70%] truncate align-bottom font-semibold">
            {escapeControlCharacters(
              (session.client || session.token || texts.calls.unknownClient).slice(0, 200),
            )}
          </span>
          {session.workspace && (
            <span
              title={escapeControlCharacters(session.workspace)}
              className="ml-2 text-sm text-ink2"
            >
              in {folderName(session.workspace)}
            </span>
          )}
        </Link>
        {/* The list is sorted by these. */}
        <span className="shrink-0 text-sm text-ink3">
          {session.open && <span className="mr-3 text-ok">Open</span>}
          {clock(session.first, now)}
        </span>
      </div>
      <div className="flex items-baseline gap-3 text-xs text-ink3">
        <span className="min-w-0 flex-1 truncate">
          {servers.slice(0, shownServers).join(', ')}
          {servers.length > shownServers && ` and ${servers.length - shownServers} more`}
        </span>
        <span className="shrink-0">
          {texts.clients.calls(count(session.calls))}
          {session.errors > 0 && (
            <span className="text-bad"> · {callsTexts.failed(count(session.errors))}</span>
          )}
          {spanNs(session) > 0 && (
            <span className="max-sm:hidden"> · {`lasted ${duration(spanNs(session))}`}</span>
          )}
        </span>
      </div>
    </li>
  );
}

/** The last part of the path of a folder. */
export const folderName = (path: string) =>
  escapeControlCharacters((path.split(/[\\/]/).findLast(Boolean) ?? path).slice(0, 60));

function spanNs(session: { first: string; last: string }): number {
  return ((moment(session.last) ?? 0) - (moment(session.first) ?? 0)) * 1e6;
}
