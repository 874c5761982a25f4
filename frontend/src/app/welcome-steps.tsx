import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { LoaderCircle, Plus, Store, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { useLiveCalls } from '@/features/calls/api';
import { callName } from '@/features/calls/call-row';
import { RecentCalls } from '@/features/calls/recent-calls';
import { clientsQuery, connectionsQuery, takeoverQuery } from '@/features/clients/api';
import { ConnectHelp } from '@/features/clients/clients-page';
import { ConnectionRow } from '@/features/clients/connections';
import { ImportPanel } from '@/features/clients/import-panel';
import { joinClients } from '@/features/clients/joined-clients';
import { isOnline } from '@/features/clients/online';
import { TakeOver } from '@/features/clients/take-over-servers';
import { AddForm } from '@/features/servers/add-server-page';
import { serversQuery } from '@/features/servers/api';
import { CompactServerList } from '@/features/servers/compact-server-list';
import { escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { Connection } from '@/types/api';

const welcomeFirstText = (client: string, tool: string) =>
  `${client || 'A client'} called ${tool}. The call succeeded and was recorded.`;

const firstFailed = (client: string, tool: string) =>
  `${client || 'A client'} called ${tool}. The call failed; the error was recorded.`;

const link = 'text-accent underline underline-offset-2';

/** Imports the servers of the clients, or adds a server manually. */
export function ServersStep() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: takeover } = useQuery(takeoverQuery());
  const [adding, setAdding] = useState<boolean>();
  // Decided once, when the answer is known: the form must not close while it is filled in.
  if (adding === undefined && takeover !== undefined)
    setAdding(servers.length === 0 && takeover.clients?.length === 0);
  return (
    <div className="space-y-4">
      <TakeOver look={servers.length > 0 ? 'secondary' : 'primary'} />
      {servers.length > 0 && <CompactServerList />}
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={adding === true} onClick={() => setAdding((on) => !on)}>
          <Plus className="size-4" aria-hidden />
          Add a server manually
        </Button>
        <Link to="/directory" className={buttonClasses()}>
          <Store className="size-4" aria-hidden />
          {texts.directory.openDirectory}
        </Link>
        <ImportPanel />
      </div>
      {adding && <AddForm onAdded={() => setAdding(false)} />}
    </div>
  );
}

/** The client applications that are installed or connected. */
export const clientsHere = (connections: Connection[] | undefined): Connection[] =>
  (connections ?? []).filter((one) => one.detected || one.state !== 'notConnected');

/** The installed client applications; without any, how to connect another client. */
export function ClientsStep() {
  const { data: connections } = useQuery(connectionsQuery);
  const { data: clients } = useQuery(clientsQuery);
  const now = useNow();
  const here = clientsHere(connections);
  if (here.length === 0) return <ConnectHelp />;
  const online = new Set(
    joinClients(here, clients ?? [])
      .filter((one) => isOnline(one, now))
      .flatMap((one) => one.connections),
  );
  return (
    <ul className="overflow-hidden rounded-lg border">
      {here.map((connection) => (
        <ConnectionRow
          key={connection.key}
          connection={connection}
          online={online.has(connection)}
        />
      ))}
    </ul>
  );
}

/** Waits for the first call, then shows the calls as they arrive. */
export function FirstCallStep({ done }: { done: { servers: boolean; clients: boolean } }) {
  const calls = useLiveCalls();
  const { data: servers } = useSuspenseQuery(serversQuery);
  const ended = calls.filter((call) => call.outcome !== '');
  const first = ended.find((call) => call.outcome === 'ok') ?? ended[0];
  if (!first)
    return (
      <div className="space-y-1 text-sm">
        <p className="flex items-center gap-2.5" role="status">
          {done.servers && done.clients && (
            <LoaderCircle className="size-4 animate-spin text-accent" aria-hidden />
          )}
          {!done.servers
            ? 'No tools to call yet. Add a server in step 1.'
            : !done.clients
              ? 'No client is connected yet.'
              : 'Waiting for the first call…'}
        </p>
        {servers.some((server) => server.tools > 0) && (
          <p className="text-ink2">
            Or make a call yourself:{' '}
            <Link to="/tools" className={link}>
              Try a tool
            </Link>
          </p>
        )}
      </div>
    );
  const ok = first.outcome === 'ok';
  return (
    <div className="space-y-3">
      <p className="flex items-start gap-2.5 text-sm" role="status">
        {!ok && <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />}
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {escapeControlCharacters(
            (ok ? welcomeFirstText : firstFailed)(
              first.client.slice(0, 100),
              callName(first).slice(0, 200),
            ),
          )}{' '}
          <Link to="/calls/$id" params={{ id: first.id }} className={link}>
            Open call
          </Link>
        </span>
      </p>
      <div className="overflow-hidden rounded-lg border">
        <RecentCalls limit={5} />
      </div>
    </div>
  );
}
