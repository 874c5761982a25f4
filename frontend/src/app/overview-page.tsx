import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, type LinkProps, Navigate } from '@tanstack/react-router';
import { Activity, CircleCheck, MessageCircleQuestion, Plus, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { buttonClasses } from '@/components/button';
import { Empty, LoadingPage, PageHeader } from '@/components/page';
import { liveCallsQuery } from '@/features/calls/api';
import { CallStrip, RecentCalls, useRecentNumbers } from '@/features/calls/recent-calls';
import { callsTexts } from '@/features/calls/texts';
import { RecentChanges, recentChangesQuery } from '@/features/changes/recent-server-changes';
import { clientsQuery, connectionStates, connectionsQuery } from '@/features/clients/api';
import { joinClients, wasSeen } from '@/features/clients/joined-clients';
import { isOnline } from '@/features/clients/online';
import { RecentClients } from '@/features/clients/recent-clients';
import { serversQuery, serverUseQuery } from '@/features/servers/api';
import { CompactServerList } from '@/features/servers/compact-server-list';
import { DirectStartSavings } from '@/features/servers/direct-starts';
import {
  Attention,
  needsAttention,
  useServerNumbers,
} from '@/features/servers/servers-needing-attention';
import { usageQuery, useUsualRange } from '@/features/usage/api';
import { AtAGlance } from '@/features/usage/at-a-glance';
import { RangePicker } from '@/features/usage/range-picker';
import { p95Text } from '@/features/usage/tool-use';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { approvalsQuery } from '@/lib/approvals-query';
import { classes } from '@/lib/class-names';
import { useConnection } from '@/lib/connection';
import { bytes, count, duration, escapeControlCharacters, share } from '@/lib/format';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { Range } from '@/lib/time-range';
import type { UsageReport } from '@/types/api';
import { approvalsPending, countTroubles } from './banners';
import { useCostedTools } from './tool-context-costs';

const needYou = (n: number) => (n === 1 ? '1 issue' : `${count(n)} issues`);

const serversUp = (up: number, all: number) => `${count(up)} of ${count(all)}`;

const offered = (n: string) => (n === '1' ? '1 tool' : `${n} tools`);

const processes = (n: number) => (n === 1 ? '1 process' : `${n} processes`);

const route = getRouteApi('/');

export function OverviewPage() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const calls = useRecentNumbers();
  const usual = useUsualRange();
  const { range = usual } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: report } = useQuery(usageQuery({ range }));
  const { tools: costs } = useCostedTools();
  // Wait for parts above other content and for empty states, to avoid layout shifts.
  const ready = useAllQueriesAnswered([
    useQuery(approvalsQuery),
    useQuery(connectionsQuery),
    useQuery(clientsQuery),
    useQuery(liveCallsQuery),
    useQuery(recentChangesQuery),
  ]);
  const empty = servers.length === 0 && calls.ended + calls.running === 0;
  if (!ready) return <LoadingPage title="Overview" />;
  if (empty) return <Navigate to="/welcome" replace />;
  return (
    <>
      <PageHeader
        title="Overview"
        note={<Health />}
        action={
          <Link to="/add" className={buttonClasses()}>
            <Plus className="size-4" aria-hidden />
            {texts.add.button}
          </Link>
        }
      >
        <RangePicker
          range={range}
          report={report}
          onChange={(span) =>
            span.range
              ? navigate({ search: { range: span.range }, replace: true })
              : navigate({ to: '/usage', search: span })
          }
        />
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-6">
          <NeedsYou />
          <Numbers report={report} range={range} />
          <AtAGlance report={report} range={range} costs={costs} />
          <Part title="Live calls" more="All calls" to="/calls">
            <LatestCalls any={calls.ended + calls.running > 0} />
          </Part>
          <div className="grid gap-x-4 gap-y-6 lg:grid-cols-3">
            <Part
              title={texts.servers.title}
              more="All servers"
              to="/servers"
              className="lg:col-span-2"
            >
              <DirectStartSavings />
              <CompactServerList
                calls={
                  report && new Map(report.servers.map((use) => [use.server ?? '', use.calls]))
                }
              />
            </Part>
            <Part title="Clients" more="All clients" to="/clients">
              <RecentClients />
            </Part>
          </div>
          <RecentChanges />
        </div>
      </div>
    </>
  );
}

/** What needs attention besides servers that are not running. */
function useWaiting() {
  const { data: approvals } = useQuery(approvalsQuery);
  const { data: connections } = useQuery(connectionsQuery);
  return {
    approvals: approvals?.length ?? 0,
    lost: (connections ?? []).filter((c) => c.state === 'vanished' || c.state === 'changed'),
  };
}

/** A summary of the state of everything, beside the title. */
function Health() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { approvals, lost } = useWaiting();
  const { data: status } = useQuery(statusQuery);
  const { phase } = useConnection();
  if (phase === 'reconnecting')
    return <span className="font-medium text-ink3">{texts.lastKnown}</span>;
  const troubles = status ? countTroubles(status, servers) : 0;
  const n = servers.filter(needsAttention).length + approvals + lost.length + troubles;
  if (n === 0 && status?.idle)
    return <span className="font-medium text-ink3">{status.idle.reason}</span>;
  const Icon = n === 0 ? CircleCheck : TriangleAlert;
  return (
    <span className={classes('font-medium', n === 0 ? 'text-ok' : 'text-warn')}>
      <Icon className="mr-1.5 inline size-4 align-[-0.2em]" aria-hidden />
      {n === 0 ? 'No issues' : needYou(n)}
    </span>
  );
}

/** What needs attention: approvals first, then clients without their entry, then servers. */
function NeedsYou() {
  const { approvals, lost } = useWaiting();
  if (approvals === 0 && lost.length === 0) return <Attention />;
  return (
    <Attention
      lead={
        <ul className="mb-2 flex flex-wrap gap-2" aria-label="Needs attention">
          {approvals > 0 && (
            <li>
              <Link to="/approvals" className={buttonClasses('primary')}>
                <MessageCircleQuestion className="size-4" aria-hidden />
                {approvalsPending(approvals)}
              </Link>
            </li>
          )}
          {lost.map((connection) => (
            <li key={connection.key} className="min-w-0">
              <Link
                to="/clients"
                className={classes(
                  buttonClasses(),
                  'h-auto min-h-8 max-w-full py-1 !whitespace-normal',
                )}
              >
                <TriangleAlert className="size-4 shrink-0 text-warn" aria-hidden />
                <span className="min-w-0 [overflow-wrap:anywhere]">
                  {escapeControlCharacters(connection.name.slice(0, 60))}:{' '}
                  {connectionStates[connection.state]}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      }
    />
  );
}

function Numbers({ report, range }: { report: UsageReport | undefined; range: Range }) {
  const servers = useServerNumbers();
  const { data: list } = useSuspenseQuery(serversQuery);
  const { running } = useRecentNumbers();
  const { data: use } = useQuery(serverUseQuery);
  const { data: seen } = useQuery(clientsQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const clients = seen && joinClients(connections ?? [], seen).filter(wasSeen);
  const now = useNow();
  const memory = use?.reduce((sum, one) => sum + one.rssBytes, 0);
  const online = clients?.filter((client) => isOnline(client, now)).length ?? 0;
  const { calls, errors, p50Ns, p95Ns } = report?.total ?? {};
  const troubled = list.some(needsAttention);
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line shadow-card md:grid-cols-3 xl:grid-cols-6">
      <Figure
        label="Servers running"
        value={serversUp(servers.up, servers.all)}
        note={offered(count(servers.tools))}
        tone={troubled ? 'warn' : servers.up > 0 ? 'ok' : undefined}
        to="/servers"
      />
      <Figure
        label="Calls"
        value={calls === undefined ? none : count(calls)}
        note={running > 0 ? `${running} running now` : undefined}
        to="/calls"
        search={{ range }}
      />
      <Figure
        label="Failed calls"
        value={errors === undefined ? none : count(errors)}
        note={calls ? `${share(errors ?? 0, calls)} of calls` : undefined}
        tone={errors ? 'bad' : undefined}
        to="/calls"
        search={{ outcome: 'failed', range }}
      />
      <Figure
        label="Median latency"
        value={calls ? duration(p50Ns ?? 0) : none}
        note={calls ? p95Text(p95Ns ?? 0) : undefined}
        to="/usage"
        search={{ range }}
      />
      <Figure
        label="Server memory"
        value={memory === undefined ? none : bytes(memory)}
        note={
          use && use.length > 0 ? processes(use.reduce((n, u) => n + u.processes, 0)) : undefined
        }
        to="/servers"
      />
      <Figure
        label="Clients online"
        value={count(online)}
        note={clients && `of ${clients.length} known`}
        to="/clients"
      />
    </dl>
  );
}

const none = '–';
const tones = { ok: 'text-ok', warn: 'text-warn', bad: 'text-bad' };

/** A number with an optional note; the line of the note is reserved, to avoid layout shifts. */
function Figure({
  label,
  value,
  note,
  tone,
  to,
  search,
}: {
  label: string;
  value: string;
  note?: string;
  tone?: keyof typeof tones;
} & Pick<LinkProps, 'to' | 'search'>) {
  return (
    <div className="relative bg-panel px-4 py-3 hover:bg-hover">
      <dt className="text-xs text-ink3">{label}</dt>
      <dd className="mt-0.5">
        <Link
          to={to}
          search={search}
          className="block outline-offset-[-2px] after:absolute after:inset-0"
        >
          <span
            className={classes(
              'block truncate text-xl font-semibold tracking-tight',
              tone && tones[tone],
            )}
          >
            {value}
          </span>
          <span className="block min-h-[1.125rem] truncate text-xs text-ink3">{note}</span>
        </Link>
      </dd>
    </div>
  );
}

function Part({
  title,
  more,
  to,
  className,
  children,
}: {
  title: string;
  more: string;
  to: '/servers' | '/calls' | '/clients';
  className?: string;
  children: ReactNode;
}) {
  return (
    <section aria-label={title} className={classes('min-w-0', className)}>
      <div className="mb-2 flex items-baseline justify-between gap-3">
        <h2 className="text-sm font-semibold">{title}</h2>
        <Link to={to} className="shrink-0 text-sm text-accent underline-offset-2 hover:underline">
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
        <Empty icon={Activity} title="No calls yet">
          {callsTexts.emptyBody}
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
