import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ArrowRight, CircleCheck, LoaderCircle, PartyPopper, Plus, Store } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { Boundary, LoadingPage, PageHeader } from '@/components/page';
import { useLiveCalls } from '@/features/calls/api';
import { callName } from '@/features/calls/call-row';
import { connectionsQuery, savingsQuery } from '@/features/clients/api';
import { ConnectionRow } from '@/features/clients/connections';
import { ImportPanel } from '@/features/clients/import-panel';
import { sentence } from '@/features/clients/savings';
import { serversQuery } from '@/features/servers/api';
import { ServerGrid } from '@/features/servers/server-grid';
import { useAllIn } from '@/lib/all-in';
import { classes } from '@/lib/classes';
import { useConnection } from '@/lib/connection';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';

const t = texts.welcome;
const steps = ['servers', 'clients', 'call'] as const;
export type Step = (typeof steps)[number];

export function WelcomeRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <Welcome />
    </Boundary>
  );
}

/** The first two minutes: take servers over, connect a client, see its first call. */
function Welcome() {
  const { step: wanted } = getRouteApi('/welcome').useSearch();
  const step: Step = steps.find((one) => one === wanted) ?? 'servers';
  const navigate = getRouteApi('/welcome').useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  // What was found stands above the buttons that somebody is about to press.
  const ready = useAllIn([useQuery(savingsQuery), useQuery(connectionsQuery)]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next step begins at its heading
  useEffect(() => heading.current?.focus(), [step, ready]);
  const at = steps.indexOf(step);
  const next = steps[at + 1];
  const before = steps[at - 1];
  const go = (to: Step) => navigate({ search: { step: to } });
  if (!ready) return <LoadingPage title={t.title} />;
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-3xl">
          <ol className="mb-6 flex flex-wrap gap-x-2 gap-y-1 text-sm" aria-label={t.progress}>
            {steps.map((one, index) => (
              <li
                key={one}
                aria-current={one === step ? 'step' : undefined}
                className={classes(
                  'flex items-center gap-2 rounded-full px-3 py-1',
                  one === step ? 'bg-accent-soft font-medium text-accent' : 'text-ink3',
                )}
              >
                {index < at ? (
                  <CircleCheck className="size-4 text-ok" aria-hidden />
                ) : (
                  <span aria-hidden>{index + 1}</span>
                )}
                {t.steps[one].name}
              </li>
            ))}
          </ol>
          <h2 ref={heading} tabIndex={-1} className="text-lg font-semibold outline-none">
            {t.steps[step].title}
          </h2>
          <p className="mt-0.5 mb-4 max-w-prose text-pretty text-ink2">{t.steps[step].body}</p>
          {step === 'servers' && <Servers />}
          {step === 'clients' && <Clients />}
          {step === 'call' && <FirstCall />}
          <div className="mt-8 flex gap-2">
            {before && <Button onClick={() => go(before)}>{texts.actions.back}</Button>}
            {next ? (
              <Button look="primary" onClick={() => go(next)}>
                {t.next}
                <ArrowRight className="size-4" aria-hidden />
              </Button>
            ) : (
              <Link to="/" className={buttonClasses('primary')}>
                {t.done}
              </Link>
            )}
          </div>
        </div>
      </div>
    </>
  );
}

function Servers() {
  const { data: savings } = useQuery(savingsQuery);
  const { data: servers } = useSuspenseQuery(serversQuery);
  const [untouched] = useState(servers.length === 0);
  return (
    <div className="space-y-5">
      {savings && savings.configured > 0 && (
        <Box>
          <p className="text-base font-semibold">{sentence(savings)}</p>
          {savings.copies > 0 && <p className="text-sm text-ink2">{t.share}</p>}
        </Box>
      )}
      <div className="space-y-3">
        <ImportPanel begin={untouched} />
        <div className="flex flex-wrap gap-2">
          <Link to="/directory" className={buttonClasses()}>
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

function Clients() {
  const { data } = useQuery(connectionsQuery);
  const here = (data ?? []).filter((one) => one.detected || one.state !== 'notConnected');
  if (data && here.length === 0)
    return (
      <Box>
        <p>{texts.connections.none}</p>
        <Link to="/clients" className="text-accent underline underline-offset-2">
          {texts.clients.connect}
        </Link>
      </Box>
    );
  return (
    <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
      {here.map((connection) => (
        <ConnectionRow key={connection.key} connection={connection} />
      ))}
    </ul>
  );
}

function FirstCall() {
  const calls = useLiveCalls();
  const first = calls.find((call) => call.outcome === 'ok') ?? calls[0];
  if (!first)
    return (
      <Box>
        <p className="flex items-center gap-3" role="status">
          <LoaderCircle className="size-5 animate-spin text-accent" aria-hidden />
          {t.waiting}
        </p>
        <p className="mt-2 text-sm text-ink2">
          {t.orTry}{' '}
          <Link to="/tools" className="text-accent underline underline-offset-2">
            {texts.calls.tryTool}
          </Link>
        </p>
      </Box>
    );
  return (
    <Box tone="ok">
      <p className="flex items-start gap-3" role="status">
        <PartyPopper className="size-5 shrink-0 text-ok" aria-hidden />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {plain(t.first(first.client.slice(0, 100), callName(first).slice(0, 200)))}{' '}
          <Link
            to="/calls/$id"
            params={{ id: first.id }}
            className="text-accent underline underline-offset-2"
          >
            {texts.tools.openCall}
          </Link>
        </span>
      </p>
    </Box>
  );
}

function Box({ tone, children }: { tone?: 'ok'; children: ReactNode }) {
  return (
    <div
      className={classes(
        'rounded-lg border p-4',
        tone === 'ok' ? 'border-ok bg-ok-soft' : 'bg-panel shadow-card',
      )}
    >
      {children}
    </div>
  );
}
