import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { buttonClasses } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Boundary, LoadingPage, PageHeader } from '@/components/page';
import { liveCallsQuery, useLiveCalls } from '@/features/calls/api';
import {
  clientsQuery,
  connectionsQuery,
  manualEntryQuery,
  takeoverQuery,
} from '@/features/clients/api';
import { isOnline } from '@/features/clients/online';
import { serversQuery } from '@/features/servers/api';
import { serversText } from '@/features/servers/servers-needing-attention';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { goToOverview } from './fallback-pages';
import { UpdateQuestion } from './update-check-question';
import { ClientsStep, clientsHere, FirstCallStep, ServersStep } from './welcome-steps';

const stepsTexts = {
  servers: {
    title: 'Add your servers',
    body: 'Drawbridge will run the servers that your clients currently use, and the clients will connect to them through Drawbridge.',
  },
  clients: {
    title: 'Connect your clients',
    body: 'Moving the servers of a client in step 1 also connects it. Connect the others here.',
  },
  call: {
    title: 'Make your first call',
    body: 'Restart the client if prompted, then ask it to do something that uses a tool.',
  },
} as const;

const nothingFoundTexts = withoutPrototypes({
  title: 'Add your first server',
  body: 'No clients with servers to import were found. Add a server here, or choose one under Browse servers.',
} as const);

const noneFoundTexts = withoutPrototypes({
  title: 'Connect your clients',
  body: 'No supported client was found. Connect one as described below.',
} as const);

const words = {
  note: 'No file is changed until you have reviewed the change.',
};

const onMac = /Mac/.test(navigator.platform);
const steps = ['servers', 'clients', 'call'] as const;
type Step = (typeof steps)[number];

export function WelcomeRoute() {
  return (
    <Boundary title={texts.welcome.title}>
      <Welcome />
    </Boundary>
  );
}

/** Which steps are done, also if that happened on another page. */
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

/** The setup on one page: import servers, connect clients, see the first call. */
function Welcome() {
  const { step } = getRouteApi('/welcome').useSearch();
  const done = useDone();
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: connections } = useQuery(connectionsQuery);
  // The steps are below each other: one that grows later would move the buttons below it.
  const ready = useAllQueriesAnswered([
    useQuery(connectionsQuery),
    useQuery(clientsQuery),
    useQuery(liveCallsQuery),
    useQuery(takeoverQuery()),
    useQuery(manualEntryQuery),
  ]);
  if (!ready) return <LoadingPage title={texts.welcome.title} />;
  const found = (connections ?? []).some((one) => one.detected);
  const listed = clientsHere(connections).length > 0;
  const all = steps.every((one) => done[one]);
  return (
    <>
      <PageHeader
        title={texts.welcome.title}
        note={
          onMac
            ? `${words.note} ${'macOS may ask you to let Drawbridge access data from other apps, because Drawbridge reads the configuration files of your AI clients.'}`
            : words.note
        }
      />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <ol className="max-w-3xl space-y-4" aria-label="Steps">
          <StepSection
            number={1}
            done={done.servers}
            asked={step === 'servers'}
            {...(found ? stepsTexts.servers : nothingFoundTexts)}
            {...(done.servers && { body: `Added: ${serversText(servers)}. You can add more.` })}
          >
            <ServersStep />
          </StepSection>
          <StepSection
            number={2}
            done={done.clients}
            asked={step === 'clients'}
            {...(listed ? stepsTexts.clients : noneFoundTexts)}
            {...(done.clients && { body: 'A client is set up. You can connect more.' })}
          >
            <ClientsStep />
          </StepSection>
          <StepSection
            number={3}
            done={done.call}
            asked={step === 'call'}
            {...stepsTexts.call}
            {...(done.call && { body: 'Calls are recorded. All of them are under Calls.' })}
          >
            <FirstCallStep done={done} />
          </StepSection>
        </ol>
        {(done.servers || done.clients) && <ChangedFiles />}
        <UpdateQuestion />
        <div className="mt-5 max-w-3xl space-y-2">
          {all && (
            <p className="text-sm text-ink2">
              The setup is complete. The overview shows what runs and what needs your attention.
            </p>
          )}
          <Link to="/" className={buttonClasses(all ? 'primary' : 'secondary')}>
            {goToOverview}
          </Link>
        </div>
      </div>
    </>
  );
}

/** One numbered step; a check mark replaces the number when it is done. */
function StepSection({
  number,
  done,
  asked,
  title,
  body,
  children,
}: {
  number: number;
  done: boolean;
  /** Whether the URL names this step. */
  asked: boolean;
  title: string;
  body: string;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!asked) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: 'start' });
  }, [asked]);
  return (
    <li className="flex gap-3 rounded-lg border bg-panel p-4 shadow-card max-sm:flex-col">
      <span className="flex size-7 shrink-0 items-center justify-center" aria-hidden>
        {done ? (
          <CircleCheck className="size-7 text-ok" />
        ) : (
          <span className="flex size-7 items-center justify-center rounded-full bg-accent-soft text-sm font-semibold text-accent">
            {number}
          </span>
        )}
      </span>
      <div className="min-w-0 flex-1">
        <h2 ref={heading} tabIndex={-1} className="text-lg font-semibold outline-none">
          {done && <span className="sr-only">done: </span>}
          {title}
        </h2>
        <p className="mt-0.5 mb-3 max-w-prose text-pretty text-sm text-ink2">{body}</p>
        {children}
      </div>
    </li>
  );
}

/** The files that were changed, and how to undo the changes. */
function ChangedFiles() {
  const { data: status } = useSuspenseQuery(statusQuery);
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const written = (connections ?? []).filter((one) => one.connected);
  return (
    <section
      aria-labelledby="changed-title"
      className="mt-4 max-w-3xl rounded-lg border bg-panel p-4 text-sm shadow-card"
    >
      <h2 id="changed-title" className="font-semibold">
        Changed files
      </h2>
      <ul className="mt-2 space-y-1.5">
        {servers.length > 0 && status.configPath && (
          <Changed
            path={status.configPath}
          >{`Drawbridge’s configuration, with ${serversText(servers)}.`}</Changed>
        )}
        {written.map((one) => (
          <Changed key={one.key} path={one.path}>
            {`The configuration of ${escapeControlCharacters(one.name.slice(0, 100))}, which now points to Drawbridge.`}
          </Changed>
        ))}
      </ul>
      {written.length > 0 && (
        <div className="mt-3 space-y-1.5">
          <p className="max-w-prose text-pretty text-ink2">
            To undo this for one client, use Disconnect above or on the Clients page. It restores
            the original file if the current one has not changed since you connected; otherwise, it
            only undoes Drawbridge’s own changes. To disconnect all clients, run:
          </p>
          <CopyField
            text="drawbridge clients undo --all"
            label="Command that disconnects all clients"
          />
        </div>
      )}
    </section>
  );
}

function Changed({ path, children }: { path: string; children: string }) {
  return (
    <li className="[overflow-wrap:anywhere]">
      <code className="font-mono text-xs">{escapeControlCharacters(path.slice(0, 1000))}</code>
      <span className="block text-ink2">{children}</span>
    </li>
  );
}
