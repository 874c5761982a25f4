import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Activity, MessageCircleQuestion, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { buttonClasses } from '@/components/button';
import { Empty, PageHeader } from '@/components/page';
import { CallStrip, RecentCalls, useRecentNumbers } from '@/features/calls/recent-calls';
import { clientsQuery, connectionsQuery } from '@/features/clients/api';
import { questionsQuery } from '@/features/questions/api';
import { serversQuery, serverUseQuery, useServerLabel } from '@/features/servers/api';
import { NoServers } from '@/features/servers/no-servers';
import { Attention, ServerGrid, useServerNumbers } from '@/features/servers/server-grid';
import { DayAtAGlance } from '@/features/usage/top-tools';
import { classes } from '@/lib/classes';
import { bytes, count, plain } from '@/lib/format';
import { texts } from '@/lib/texts';

const t = texts.overview;

export function OverviewPage() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const calls = useRecentNumbers();
  const labelOf = useServerLabel();
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        {servers.length === 0 && calls.ended + calls.running === 0 ? (
          <NoServers />
        ) : (
          <div className="max-w-6xl space-y-6">
            <Numbers />
            <NeedsYou />
            <DayAtAGlance labelOf={labelOf} />
            <Part title={texts.servers.title} more={t.allServers} to="/servers">
              <ServerGrid />
            </Part>
            <Part title={t.recent} more={t.allCalls} to="/calls">
              <LatestCalls any={calls.ended + calls.running > 0} labelOf={labelOf} />
            </Part>
          </div>
        )}
      </div>
    </>
  );
}

/** What waits for a person: questions first, then servers, then clients that lost their entry. */
function NeedsYou() {
  const { data: questions } = useQuery(questionsQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const lost = (connections ?? []).filter((c) => c.state === 'vanished' || c.state === 'changed');
  const waiting = questions?.length ?? 0;
  if (waiting === 0 && lost.length === 0) return <Attention />;
  return (
    <Attention
      lead={
        <ul className="mb-2 flex flex-wrap gap-2" aria-label={t.attention}>
          {waiting > 0 && (
            <li>
              <Link to="/questions" className={buttonClasses('primary')}>
                <MessageCircleQuestion className="size-4" aria-hidden />
                {texts.questions.count(waiting)}
              </Link>
            </li>
          )}
          {lost.map((connection) => (
            <li key={connection.key}>
              <Link to="/clients" className={buttonClasses()}>
                <TriangleAlert className="size-4 text-warn" aria-hidden />
                {plain(connection.name.slice(0, 60))}: {texts.connections.states[connection.state]}
              </Link>
            </li>
          ))}
        </ul>
      }
    />
  );
}

function Numbers() {
  const servers = useServerNumbers();
  const calls = useRecentNumbers();
  const { data: use } = useQuery(serverUseQuery);
  const { data: clients } = useQuery(clientsQuery);
  const memory = use?.reduce((sum, one) => sum + one.rssBytes, 0);
  const open = clients?.filter((client) => client.sessions > 0).length ?? 0;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line shadow-card md:grid-cols-3 xl:grid-cols-6">
      <Figure
        label={texts.servers.title}
        value={t.serversUp(servers.up, servers.all)}
        tone={servers.up < servers.all ? 'warn' : 'ok'}
      />
      <Figure label={t.tools} value={count(servers.tools)} />
      <Figure
        label={t.inFlight}
        value={count(calls.running)}
        tone={calls.running > 0 ? 'accent' : undefined}
      />
      <Figure
        label={t.failed}
        value={count(calls.failed)}
        note={calls.ended > 0 ? t.failedOf(calls.ended) : undefined}
        tone={calls.failed > 0 ? 'bad' : undefined}
      />
      <Figure
        label={t.memory}
        value={memory === undefined ? '–' : bytes(memory)}
        note={
          use && use.length > 0 ? t.processes(use.reduce((n, u) => n + u.processes, 0)) : undefined
        }
      />
      <Figure label={t.clients} value={count(open)} note={clients && t.ofKnown(clients.length)} />
    </dl>
  );
}

const tones = { ok: 'text-ok', warn: 'text-warn', bad: 'text-bad', accent: 'text-accent' };

function Figure({
  label,
  value,
  note,
  tone,
}: {
  label: string;
  value: string;
  note?: string;
  tone?: keyof typeof tones;
}) {
  return (
    <div className="flex flex-col bg-panel px-4 py-3">
      <dt className="text-xs text-ink3">{label}</dt>
      <dd
        className={classes(
          'mt-0.5 flex flex-wrap items-baseline gap-x-1.5 text-xl font-semibold tracking-tight',
          tone && tones[tone],
        )}
      >
        <span className="whitespace-nowrap">{value}</span>
        {note && <span className="text-xs font-normal tracking-normal text-ink3">{note}</span>}
      </dd>
    </div>
  );
}

function Part({
  title,
  more,
  to,
  children,
}: {
  title: string;
  more: string;
  to: '/servers' | '/calls';
  children: ReactNode;
}) {
  return (
    <section aria-label={title}>
      <div className="mb-2 flex items-baseline justify-between">
        <h2 className="text-sm font-semibold">{title}</h2>
        <Link to={to} className="text-sm text-accent underline-offset-2 hover:underline">
          {more}
        </Link>
      </div>
      {children}
    </section>
  );
}

function LatestCalls({ any, labelOf }: { any: boolean; labelOf: (server: string) => string }) {
  if (!any) {
    return (
      <div className="rounded-lg border border-dashed border-strong">
        <Empty icon={Activity} title={texts.calls.emptyTitle}>
          {texts.calls.emptyBody}
        </Empty>
      </div>
    );
  }
  return (
    <div className="overflow-hidden rounded-lg border bg-panel shadow-card">
      <div className="border-b px-4 pt-3">
        <CallStrip />
      </div>
      <RecentCalls limit={10} labelOf={labelOf} />
    </div>
  );
}
