import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import {
  ArrowRight,
  CircleCheck,
  LoaderCircle,
  PartyPopper,
  Plus,
  Store,
  TriangleAlert,
} from 'lucide-react';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { Boundary, LoadingPage, PageHeader } from '@/components/page';
import { liveCallsQuery, useLiveCalls } from '@/features/calls/api';
import { callName } from '@/features/calls/call-row';
import { clientsQuery, connectionsQuery, takeoverQuery } from '@/features/clients/api';
import { ConnectionRow } from '@/features/clients/connections';
import { ImportPanel } from '@/features/clients/import-panel';
import { isOnline } from '@/features/clients/online';
import { TakeOver } from '@/features/clients/take-over';
import { serversQuery } from '@/features/servers/api';
import { ServerGrid } from '@/features/servers/server-grid';
import { useAllAnswered } from '@/lib/all-answered';
import { classes } from '@/lib/classes';
import { useConnection } from '@/lib/connection';
import { plain } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';

const t = texts.welcome;
const steps = ['servers', 'clients', 'call'] as const;
export type Step = (typeof steps)[number];
const link = 'text-accent underline underline-offset-2';

export function WelcomeRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={t.title}>
      <Welcome />
    </Boundary>
  );
}

/** What was done of each step, whatever page it was done on. */
function useDone(): Record<Step, boolean> {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const { data: clients } = useQuery(clientsQuery);
  const calls = useLiveCalls();
  const now = useNow();
  return {
    servers: servers.length > 0,
    clients:
      (connections ?? []).some((one) => one.state === 'connected') ||
      (clients ?? []).some((one) => isOnline(one, now)),
    call: calls.some((call) => call.outcome === 'ok'),
  };
}

/** What each step is called and says: the first one differs where no client was found. */
function useWords(): Record<Step, { title: string; body: string }> {
  const { data } = useQuery(connectionsQuery);
  const found = (data ?? []).some((one) => one.detected);
  return found ? t.steps : { ...t.steps, servers: t.nothingFound };
}

/** The first two minutes: take servers over, connect a client, see its first call. */
function Welcome() {
  const { step: wanted } = getRouteApi('/welcome').useSearch();
  const step: Step = steps.find((one) => one === wanted) ?? 'servers';
  const navigate = getRouteApi('/welcome').useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  const done = useDone();
  // What was found stands above the buttons that somebody is about to press.
  const ready = useAllAnswered([
    useQuery(connectionsQuery),
    useQuery(clientsQuery),
    useQuery(liveCallsQuery),
    useQuery(takeoverQuery),
  ]);
  // With the drawing and not after it: a button that is focused at once must not lose the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next step begins at its heading
  useLayoutEffect(() => heading.current?.focus(), [step, ready]);
  const at = steps.indexOf(step);
  const next = steps[at + 1];
  const before = steps[at - 1];
  const words = useWords();
  const go = (to: Step) => navigate({ search: { step: to } });
  if (!ready) return <LoadingPage title={t.title} />;
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 scroll-pb-16 px-4 md:px-6">
        <div className="flex min-h-full max-w-3xl flex-col">
          <ol className="mb-6 flex flex-wrap gap-x-2 gap-y-1 text-sm" aria-label={t.progress}>
            {steps.map((one, index) => (
              <li key={one}>
                <Link
                  to="/welcome"
                  search={{ step: one }}
                  aria-current={one === step ? 'step' : undefined}
                  className={classes(
                    'flex items-center gap-2 rounded-full px-3 py-1',
                    one === step
                      ? 'bg-accent-soft font-medium text-accent'
                      : 'text-ink2 hover:bg-hover',
                  )}
                >
                  {done[one] ? (
                    <CircleCheck className="size-4 text-ok" aria-label={t.isDone} role="img" />
                  ) : (
                    <span aria-hidden>{index + 1}</span>
                  )}
                  {t.steps[one].name}
                </Link>
              </li>
            ))}
          </ol>
          <h2 ref={heading} tabIndex={-1} className="text-lg font-semibold outline-none">
            {words[step].title}
          </h2>
          <p className="mt-0.5 mb-4 max-w-prose text-pretty text-ink2">
            {!(step === 'call' && done.call) && words[step].body}
          </p>
          {step === 'servers' && <Servers />}
          {step === 'clients' && <Clients done={done} />}
          {step === 'call' && <FirstCall done={done} />}
          {/* Always in view: below a long list nobody would look for it. */}
          <div className="sticky bottom-0 mt-5 flex gap-2 border-t bg-canvas py-3">
            {next ? (
              <Button look={done[step] ? 'primary' : 'secondary'} onClick={() => go(next)}>
                {t.next}
                <ArrowRight className="size-4" aria-hidden />
              </Button>
            ) : (
              <Link to="/" className={buttonClasses(done[step] ? 'primary' : 'secondary')}>
                {t.done}
              </Link>
            )}
            {before && (
              <Button look="quiet" onClick={() => go(before)}>
                {texts.actions.back}
              </Button>
            )}
          </div>
        </div>
      </div>
    </>
  );
}

function Servers() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const [untouched] = useState(servers.length === 0);
  const { data: connections } = useQuery(connectionsQuery);
  const { data: takeover } = useQuery(takeoverQuery);
  const [all] = useState((takeover?.clients ?? []).length > 0);
  const toImport = (connections ?? []).some((one) => one.detected && one.state !== 'unreadable');
  return (
    <div className="space-y-5">
      <TakeOver />
      <div className="space-y-3">
        <div className="flex flex-wrap gap-2">
          <ImportPanel begin={untouched && !all} />
          <Link
            to="/directory"
            className={buttonClasses(untouched && !toImport ? 'primary' : 'secondary')}
          >
            <Store className="size-4" aria-hidden />
            {texts.directory.openDirectory}
          </Link>
          <Link to="/add" className={buttonClasses()}>
            <Plus className="size-4" aria-hidden />
            {t.byHand}
          </Link>
        </div>
      </div>
      {servers.length > 0 && <ServerGrid />}
    </div>
  );
}

/** What comes before this step, with the way there. */
function First({ step, children }: { step: Step; children: string }) {
  const words = useWords();
  return (
    <p className="text-sm text-ink2">
      {children}{' '}
      <Link to="/welcome" search={{ step }} className={link}>
        {words[step].title}
      </Link>
    </p>
  );
}

function Clients({ done }: { done: Record<Step, boolean> }) {
  const { data } = useQuery(connectionsQuery);
  const here = (data ?? []).filter((one) => one.detected || one.state !== 'notConnected');
  return (
    <div className="space-y-4">
      {!done.servers && <First step="servers">{t.noServer}</First>}
      {data && here.length === 0 ? (
        <Box>
          <p>{texts.connections.none}</p>
          <Link to="/clients" className={link}>
            {texts.clients.connect}
          </Link>
        </Box>
      ) : (
        <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
          {here.map((connection) => (
            <ConnectionRow key={connection.key} connection={connection} />
          ))}
        </ul>
      )}
    </div>
  );
}

function FirstCall({ done }: { done: Record<Step, boolean> }) {
  const calls = useLiveCalls();
  const { data: servers } = useSuspenseQuery(serversQuery);
  const ended = calls.filter((call) => call.outcome !== '');
  const first = ended.find((call) => call.outcome === 'ok') ?? ended[0];
  if (!first && !done.servers)
    return (
      <Box>
        <First step="servers">{t.nothingToCall}</First>
      </Box>
    );
  if (!first)
    return (
      <Box>
        <p className="flex items-center gap-3" role="status">
          <LoaderCircle className="size-5 animate-spin text-accent" aria-hidden />
          {t.waiting}
        </p>
        <div className="mt-2 space-y-1">
          {!done.clients && <First step="clients">{t.noClient}</First>}
          {servers.some((server) => server.tools > 0) && (
            <p className="text-sm text-ink2">
              {t.orTry}{' '}
              <Link to="/tools" className={link}>
                {texts.calls.tryTool}
              </Link>
            </p>
          )}
        </div>
      </Box>
    );
  const ok = first.outcome === 'ok';
  const Icon = ok ? PartyPopper : TriangleAlert;
  return (
    <Box tone={ok ? 'ok' : 'warn'}>
      <p className="flex items-start gap-3" role="status">
        <Icon className={classes('size-5 shrink-0', ok ? 'text-ok' : 'text-warn')} aria-hidden />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {plain(
            (ok ? t.first : t.firstFailed)(
              first.client.slice(0, 100),
              callName(first).slice(0, 200),
            ),
          )}{' '}
          <Link to="/calls/$id" params={{ id: first.id }} className={link}>
            {texts.tools.openCall}
          </Link>
        </span>
      </p>
    </Box>
  );
}

const tones = { ok: 'border-ok bg-ok-soft', warn: 'border-warn bg-warn-soft' };

function Box({ tone, children }: { tone?: keyof typeof tones; children: ReactNode }) {
  return (
    <div className={classes('rounded-lg border p-4', tone ? tones[tone] : 'bg-panel shadow-card')}>
      {children}
    </div>
  );
}
