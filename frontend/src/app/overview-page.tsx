import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Activity } from 'lucide-react';
import type { ReactNode } from 'react';
import { Empty, PageHeader } from '@/components/page';
import { CallStrip, RecentCalls, useRecentNumbers } from '@/features/calls/recent-calls';
import { serversQuery } from '@/features/servers/api';
import { Attention, ServerGrid, useServerNumbers } from '@/features/servers/server-grid';
import { NoServers } from '@/features/servers/servers-page';
import { classes } from '@/lib/classes';
import { count } from '@/lib/format';
import { texts } from '@/lib/texts';

const t = texts.overview;

export function OverviewPage() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const calls = useRecentNumbers();
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        {servers.length === 0 && calls.ended + calls.running === 0 ? (
          <NoServers />
        ) : (
          <div className="max-w-6xl space-y-6">
            <Numbers />
            <Attention />
            <Part title={texts.servers.title} more={t.allServers} to="/servers">
              <ServerGrid />
            </Part>
            <Part title={t.recent} more={t.allCalls} to="/calls">
              <LatestCalls any={calls.ended + calls.running > 0} />
            </Part>
          </div>
        )}
      </div>
    </>
  );
}

function Numbers() {
  const servers = useServerNumbers();
  const calls = useRecentNumbers();
  return (
    <dl className="grid grid-cols-2 overflow-hidden rounded-lg border bg-panel shadow-card md:grid-cols-4">
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
    <div className="flex flex-col border-line px-4 py-3 odd:border-r max-md:[&:nth-child(n+3)]:border-t md:border-r md:last:border-r-0">
      <dt className="text-xs text-ink3">{label}</dt>
      <dd className={classes('mt-0.5 text-xl font-semibold tracking-tight', tone && tones[tone])}>
        {value}
        {note && <span className="ml-1.5 text-xs font-normal text-ink3">{note}</span>}
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

function LatestCalls({ any }: { any: boolean }) {
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
      <RecentCalls limit={10} />
    </div>
  );
}
