import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { MonitorSmartphone } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { GuestBadge } from '@/components/guest-badge';
import { joined } from '@/components/more';
import { Failed, PageHeader } from '@/components/page';
import { age, count, escapeControlCharacters, exactTime } from '@/lib/format';
import { useIsGuest } from '@/lib/guests-query';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { Connection } from '@/types/api';
import { clientsQuery, connectionsQuery, importableQuery, manualEntryQuery } from './api';
import { FeatureMatrix } from './client-features-by-server';
import { ConnectionState } from './connections';
import { GuestsPanel } from './guests';
import { type JoinedClient, joinClients, wasSeen } from './joined-clients';
import { isOnline } from './online';
import { openSessions } from './recent-clients';
import { SourcesSection } from './sources';
import { TakenOver } from './take-over-servers';

const t = texts.clients;

/** Shows something about the client with a token, and the connection of its own file, if it has one. */
type ByClient = (token: string, connection: Connection | undefined) => ReactNode;

export function ClientsPage({
  connecting,
  tokens,
  access,
  context,
  costs,
  tokensPanel,
}: {
  /** The connection whose form is open. */
  connecting: string | undefined;
  /** Tokens with settings. */
  tokens: string[];
  /** The tokens that the list of tools costs the client with a token. */
  context: ByClient;
  /** What the definitions of each server cost in tokens, by its name. */
  costs: Map<string, number>;
  /** The tokens of all clients. */
  tokensPanel: ReactNode;
  /** The settings for what the client with a token can use. */
  access: ByClient;
}) {
  const { data: clients } = useSuspenseQuery(clientsQuery);
  const connections = useQuery(connectionsQuery);
  const isGuest = useIsGuest();
  const all = joinClients(connections.data ?? [], clients, tokens, isGuest);
  return (
    <>
      <PageHeader title="Clients" />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-6">
          {connections.isError && (
            <Failed error={connections.error} onRetry={() => connections.refetch()} />
          )}
          {clients.length === 0 && <NoClients />}
          {all.length > 0 && (
            <section aria-labelledby="clients-title">
              <h2 id="clients-title" className="sr-only">
                All clients
              </h2>
              <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
                {all.map((client) => (
                  <ClientRow
                    key={client.key}
                    client={client}
                    connecting={connecting}
                    access={access}
                    context={context}
                    costs={costs}
                  />
                ))}
              </ul>
            </section>
          )}
          <SourcesSection />
          <TakenOver />
          <section aria-labelledby="tokens-title">
            <h2 id="tokens-title" className="mb-2 font-semibold">
              Access tokens
            </h2>
            {tokensPanel}
          </section>
          <section aria-labelledby="guests-title">
            <h2 id="guests-title" className="mb-2 font-semibold">
              Guests
            </h2>
            <GuestsPanel />
          </section>
          <Rare title="Manual setup" open={!all.some(wasSeen)}>
            <ConnectHelp />
          </Rare>
          <Rare title="Feature support">
            <FeatureMatrix clients={all} />
          </Rare>
        </div>
      </div>
    </>
  );
}

/** What is needed once, behind a line that opens it. */
function Rare({ title, open, children }: { title: string; open?: boolean; children: ReactNode }) {
  return (
    <details open={open}>
      <summary className="cursor-pointer font-semibold">{title}</summary>
      <div className="mt-2">{children}</div>
    </details>
  );
}

function NoClients() {
  return (
    <div className="flex items-start gap-4 rounded-lg border border-dashed border-strong p-4">
      <div className="flex size-10 shrink-0 items-center justify-center rounded-lg bg-accent-soft text-accent">
        <MonitorSmartphone className="size-5" aria-hidden />
      </div>
      <div>
        <h2 className="font-semibold">No client has made a call yet</h2>
        <p className="text-ink2">
          Connect an AI application to give it access to the tools on all your servers.
        </p>
      </div>
    </div>
  );
}

/** The clients whose settings are open, also after another page. */
const opened = new Set<string>();

function ClientRow({
  client,
  connecting,
  access,
  context,
  costs,
}: {
  client: JoinedClient;
  connecting: string | undefined;
  access: ByClient;
  context: ByClient;
  costs: Map<string, number>;
}) {
  const now = useNow();
  const [first, ...others] = client.connections;
  const hasSettings =
    client.token && !client.left && (client.hasToken || client.calls > 0 || !first);
  const online = isOnline(client, now);
  const pays = !first || first.connected || (online && !first.leftAt);
  const facts = (
    <Facts client={client} context={pays && hasSettings ? context(client.token, first) : null} />
  );
  const [open, setOpen] = useState(opened.has(client.key));
  const [warned, setWarned] = useState(false);
  // What helped against a warning stays open after it.
  if (!warned && first && exceedsTools(first)) {
    setWarned(true);
    setOpen(true);
  }
  return (
    <li
      data-client={first?.key}
      tabIndex={-1}
      className="space-y-1 border-t px-4 py-2.5 outline-offset-[-2px] first:border-t-0"
    >
      {first ? (
        <ConnectionState
          key={`${connecting === first.key}`}
          connecting={connecting === first.key}
          connection={first}
          named
          online={online}
          facts={facts}
        />
      ) : (
        <div>
          <h3 className="truncate font-semibold">
            {escapeControlCharacters(client.name.slice(0, 200))} <GuestBadge token={client.token} />
          </h3>
          {facts}
        </div>
      )}
      {others.map((connection) => (
        <ConnectionState key={connection.key} connection={connection} />
      ))}
      {hasSettings && (
        <details
          className="text-sm"
          open={open}
          onToggle={({ currentTarget }) => {
            setOpen(currentTarget.open);
            opened[currentTarget.open ? 'add' : 'delete'](client.key);
          }}
        >
          <summary className="w-fit cursor-pointer text-ink2">
            Tools and limits
            <span className="sr-only">
              {' '}
              for {escapeControlCharacters(client.name.slice(0, 200))}
            </span>
          </summary>
          {open && (
            <div className="space-y-3 pt-2">
              {access(client.token, first)}
              {first && first.own.length > 0 && <OwnServers connection={first} costs={costs} />}
            </div>
          )}
        </details>
      )}
    </li>
  );
}

/** The servers that a connected client runs itself, and which of them Drawbridge has, too. */
function OwnServers({ connection, costs }: { connection: Connection; costs: Map<string, number> }) {
  const { data } = useQuery(importableQuery(connection.key));
  const same = (data ?? []).filter(
    (one) => one.exists && !one.scope && connection.own.includes(one.name),
  );
  const tokens = same.reduce((sum, { label }) => sum + (costs.get(label) ?? 0), 0);
  const names = (list: string[]) =>
    escapeControlCharacters(
      joined(
        list.map((name) => `“${name.slice(0, 60)}”`),
        10,
      ),
    );
  return (
    <p className="text-warn">
      {`It also pays for the servers in its own file, which are not counted here: ${names(connection.own)}. `}
      {same.length > 0 &&
        `Drawbridge offers the same servers, so their tools are listed twice: ${names(same.map((one) => one.name))}${tokens > 0 ? `, ~${count(tokens)} tokens` : ''}. `}
      <Link to="/welcome" className="underline underline-offset-2">
        Move them to Drawbridge…
      </Link>
    </p>
  );
}

/** Whether it is offered more tools than it supports; how to list fewer is then shown. */
const exceedsTools = ({ maxTools, offered }: Connection) => maxTools > 0 && offered > maxTools;

/** The reported names of a client, its number of calls, and when it was last seen. */
function Facts({ client, context }: { client: JoinedClient; context: ReactNode }) {
  const now = useNow();
  const { reported, sessions, calls, lastSeen } = client;
  const seen = age(lastSeen, now);
  const online = isOnline(client, now);
  const names = [...new Set(reported.map((one) => `${one.name} ${one.version}`.trim()))];
  const last = reported[0];
  if (client.connections.length > 0 && !last && !client.hasToken && calls === 0) return null;
  return (
    <p className="flex flex-wrap gap-x-3 text-sm text-ink2">
      {context}
      <span className={online ? 'text-ok' : 'text-ink3'} title={exactTime(lastSeen)}>
        {seen ? t.seen(seen) : 'Never seen'}
      </span>
      {calls > 0 && (
        <Link
          to="/calls"
          search={{ client: last?.name || undefined }}
          className="underline underline-offset-2 hover:text-ink"
        >
          {t.calls(count(calls))}
        </Link>
      )}
      {sessions > 0 && <span>{openSessions(count(sessions))}</span>}
      {names.length > 0 && (
        <span
          className="max-w-full truncate text-ink3"
          title={escapeControlCharacters(names.join(', '))}
        >
          {escapeControlCharacters(names.slice(0, 3).join(', ').slice(0, 300))}
        </span>
      )}
      {(!client.token || !client.connections[0]?.leftAt) && (
        <span className="max-w-full truncate text-ink3">
          {client.token
            ? `Access token ${escapeControlCharacters(client.token.slice(0, 100))}`
            : 'No access token'}
        </span>
      )}
    </p>
  );
}

/** How to connect a client that is not in the list. */
export function ConnectHelp() {
  const { url, requireToken } = useSuspenseQuery(statusQuery).data;
  const { data: entry, error } = useQuery(manualEntryQuery);
  return (
    <>
      <p className="text-sm text-ink2">
        One configuration entry gives a client access to all servers.
      </p>
      <div className="mt-3 grid gap-3 lg:grid-cols-2">
        <Card title="Connect by URL">
          <p className="text-sm text-ink2">
            For a client that supports streamable HTTP: use this URL and an access token.
          </p>
          <CopyField titled text={`${url}/mcp`} label="URL" />
          {requireToken && (
            <>
              <p className="text-sm text-ink2">
                Create an access token on the page Clients, or with{' '}
                <code className="font-mono text-xs">drawbridge token my-client</code>.
              </p>
              <CopyField titled text="Authorization: Bearer TOKEN" label="Header" />
            </>
          )}
        </Card>
        <Card title="Connect by command">
          <p className="text-sm text-ink2">
            For a client that only supports stdio: add this entry to its configuration.
          </p>
          {entry && <CopyField text={entry.text} label="Configuration entry" />}
          <Failure error={error} />
        </Card>
      </div>
    </>
  );
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="space-y-2 rounded-lg border bg-panel p-4 shadow-card">
      <h3 className="font-semibold">{title}</h3>
      {children}
    </div>
  );
}
