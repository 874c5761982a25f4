import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ServerOff, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { CopyField } from '@/components/copy-button';
import { Facts, Section } from '@/components/fields';
import { Loading } from '@/components/page';
import { TabList, TabPanel, Tabs } from '@/components/segmented-control';
import { DetailFrame, Gone } from '@/components/split-view';
import { StateBadge } from '@/components/state-badge';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { age, bytes, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { RequestError } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { ServerDetail as Detail, Instance, Transport } from '@/types/api';
import { debugQuery, serverQuery, serversQuery, visibleToolsQuery } from './api';
import { useStartText } from './direct-starts';
import { ServerDebug } from './server-debug';
import { destinationsQuery, ServerDestinations } from './server-destinations';
import { ServerEntryEditor, useEntryEdit } from './server-entry-editor';
import { ServerFailure } from './server-failure';
import { LogView } from './server-log';
import { ServerMoreMenu } from './server-more-menu';
import { type View, views } from './server-page-views';
import { withheldText } from './server-row';
import { ServerSandbox, sandboxQuery } from './server-sandbox';
import { ServerTools } from './server-tools';
import { SignedIn, SignIn } from './sign-in';
import { ServerButtons } from './start-stop-buttons';

const viewNamesTexts = withoutPrototypes({
  about: 'About',
  tools: 'Tools',
  calls: 'Calls',
  log: 'Log',
  config: 'Configuration',
  diagnostics: 'Diagnostics',
} as const);

const transports: Record<string, string> = {
  stdio: 'Local process',
  docker: 'Docker',
  http: 'HTTP',
  sse: 'SSE',
  replay: 'Replay',
} satisfies Record<Transport, string>;

const offered = (tools: string, prompts: number, resources: number, withheld: number) =>
  [
    tools,
    prompts > 0 && `${prompts} ${prompts === 1 ? 'prompt' : 'prompts'}`,
    resources > 0 && `${resources} ${resources === 1 ? 'resource' : 'resources'}`,
    withheld > 0 && withheldText(withheld),
  ]
    .filter(Boolean)
    .join(', ');

interface Props {
  id: string;
  view: View;
  onView: (view: View) => void;
  onClose: () => void;
  /** Adds the review of its tool definitions above the list of its tools. */
  trust?: (tools: ReactNode) => ReactNode;
  /** The package version that it runs. */
  version?: ReactNode;
  /** Its latest calls. */
  calls?: ReactNode;
}

/** One server in several views; the URL contains the selected one. */
export function ServerDetail(props: Props) {
  const { id, onClose } = props;
  const { data: servers } = useSuspenseQuery(serversQuery);
  if (!servers.some((server) => server.id === id)) {
    return (
      <Gone
        id={id}
        title={escapeControlCharacters(id)}
        icon={ServerOff}
        what="This server is no longer in the configuration"
        onClose={onClose}
      >
        It may have been renamed or removed while this page was open.
      </Gone>
    );
  }
  return <ServerContent {...props} />;
}

function ServerContent({ id, view, onView, onClose, trust, version, calls }: Props) {
  const { data: server } = useSuspenseQuery({
    ...serverQuery(id),
    // A server that was just removed returns 404; the list is updated soon.
    retry: (failures, error) =>
      !(error instanceof RequestError && error.status === 404) && failures < 2,
  });
  const edit = useEntryEdit(id);
  const now = useNow();
  const since = age(server.since, now);
  return (
    <Tabs value={view} onChange={onView} className="contents">
      <DetailFrame
        id={id}
        title={escapeControlCharacters(server.label || server.id)}
        onClose={onClose}
        meta={
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <StateBadge state={server.state} />
            {since && server.state !== 'backoff' && (
              <span className="text-ink3">{`for ${since}`}</span>
            )}
            {(server.tags ?? []).map((tag) => (
              <Link
                key={tag}
                to="/servers"
                search={{ q: tag }}
                className="rounded bg-sunken px-1.5 text-xs leading-5 text-ink2 hover:text-ink"
              >
                {escapeControlCharacters(tag.slice(0, 40))}
              </Link>
            ))}
          </span>
        }
        actions={
          <>
            <ServerButtons server={server} />
            <ServerMoreMenu
              server={server}
              onDiagnostics={() => onView('diagnostics')}
              onGone={onClose}
            />
            <span className="w-full" />
            <TabList
              label="Server views"
              options={views
                .filter((value) => value !== 'diagnostics' || view === value)
                .map((value) => ({ value, text: viewNamesTexts[value] }))}
            />
          </>
        }
      >
        {/* The log fills the height below the reason, so that its end is visible. */}
        <TabPanel value={view} className={view === 'log' ? 'flex h-full flex-col' : undefined}>
          <ServerFailure server={server} view={view} onLog={() => onView('log')} />
          <SignIn server={server} />
          {view === 'about' && <About server={server} now={now} />}
          {view === 'about' && version}
          {view === 'about' && trust?.(null)}
          {view === 'about' && <Security id={id} />}
          {view === 'tools' && (trust?.(<ServerTools id={id} />) ?? <ServerTools id={id} />)}
          {view === 'log' && <LogView server={server} />}
          {view === 'calls' && calls}
          {view === 'config' && <ServerEntryEditor server={server} state={edit} />}
          {view === 'diagnostics' && (
            <>
              {server.instances && server.instances.length > 0 && (
                <Section title="Instances">
                  <Instances list={server.instances} now={now} />
                </Section>
              )}
              <Diagnostics id={id} />
            </>
          )}
        </TabPanel>
      </DetailFrame>
    </Tabs>
  );
}

/** What a server in a sandbox may reach and what it reached, shown at once so that neither moves the other. */
/** Shown when all of it is loaded: one part would move the other. */
function Diagnostics({ id }: { id: string }) {
  const ready = useAllQueriesAnswered([useQuery(destinationsQuery(id)), useQuery(debugQuery(id))]);
  if (!ready) return <Loading />;
  return (
    <>
      <ServerDestinations server={id} />
      <ServerDebug id={id} />
    </>
  );
}

function Security({ id }: { id: string }) {
  const destinations = useQuery(destinationsQuery(id));
  const sandbox = useQuery(sandboxQuery(id));
  const ready = useAllQueriesAnswered([destinations, sandbox]);
  if (!ready || sandbox.data?.mode !== 'on') return null;
  return (
    <>
      <ServerSandbox server={id} />
      <ServerDestinations server={id} />
    </>
  );
}

function About({ server, now }: { server: Detail; now: number }) {
  return (
    <>
      {server.state === 'disabled' && !server.reason && (
        <p className="bg-sunken px-4 py-3 text-sm text-ink2 md:px-5">
          Disabled in the configuration file. Enabling it changes the file.
        </p>
      )}
      {server.warnings && server.warnings.length > 0 && (
        <Section title="Warnings">
          <ul className="space-y-1 text-sm">
            {server.warnings.map((warning) => (
              <li key={warning} className="flex gap-2">
                <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
                <span className="min-w-0 [overflow-wrap:anywhere]">
                  {escapeControlCharacters(warning)}
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="About">
        <ServerFacts server={server} now={now} />
      </Section>
      <SignedIn server={server} />
      {server.command && (
        <Section title="Command">
          <CopyField text={escapeControlCharacters(server.command)} label="Command" />
        </Section>
      )}
    </>
  );
}

export function ServerFacts({ server, now }: { server: Detail; now: number }) {
  // A server that has never responded has the time of its last change instead.
  const heard = server.updated !== server.since && age(server.updated, now);
  const up = server.tools + server.prompts + server.resources > 0;
  const { data: visible } = useQuery(visibleToolsQuery);
  const { data: status } = useQuery(statusQuery);
  const tools = texts.servers.tools(server.tools, visible?.[server.id]);
  const withheld = ownValue(status?.withheld ?? {}, server.id) ?? 0;
  const start = useStartText(server.id);
  return (
    <Facts
      rows={[
        ['Transport', ownValue(transports, server.transport) ?? server.transport],
        ['Software', software(server.serverInfo)],
        ['Protocol', texts.mcp(server.protocolVersion, server.era)],
        ['Features', up && offered(tools, server.prompts, server.resources, withheld)],
        ['Memory', server.usage?.rssBytes ? bytes(server.usage.rssBytes) : ''],
        ['CPU', server.usage?.rssBytes ? `${server.usage.cpuPercent.toFixed(1)}%` : ''],
        ['Started', server.pid ? start : ''],
        ['Running calls', server.inFlight > 0 && server.inFlight],
        ['Restarts', server.restarts > 0 && server.restarts],
        ['Exit code', server.exitCode ?? ''],
        ['Last response', heard && texts.servers.ago(heard)],
      ]}
    />
  );
}

/** The name and version that the server reports, if they are valid. */
function software(info: unknown): string {
  if (typeof info !== 'object' || info === null) return '';
  const { title, name, version } = info as Record<string, unknown>;
  return [typeof title === 'string' && title ? title : name, version]
    .filter((part): part is string => typeof part === 'string')
    .map((part) => escapeControlCharacters(part.slice(0, 200)))
    .join(' ');
}

/** One line per process of a server that runs one for each client, session or folder. */
function Instances({ list, now }: { list: Instance[]; now: number }) {
  return (
    <ul className="space-y-2 text-sm">
      {list.map((instance) => (
        <li key={instance.name} className="flex flex-wrap items-baseline gap-x-3">
          <span className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            {escapeControlCharacters(instance.name.slice(0, 300))}
          </span>
          <StateBadge state={instance.state} />
          <span className="w-20 text-right text-ink3">{age(instance.since, now)}</span>
          {(instance.workspace || instance.reason) && (
            <span className="w-full text-xs text-ink3 [overflow-wrap:anywhere]">
              {escapeControlCharacters(instance.workspace ?? '')}
              {instance.reason && (
                <span className="block">{escapeControlCharacters(instance.reason)}</span>
              )}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
