import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { MonitorSmartphone } from 'lucide-react';
import type { ReactNode } from 'react';
import { CopyField } from '@/components/copy-button';
import { PageHeader } from '@/components/page';
import { age, count, exactTime, plain } from '@/lib/format';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status';
import { texts } from '@/lib/texts';
import type { Client } from '@/types/api';
import { clientsQuery } from './api';
import { Connections } from './connections';
import { Features } from './features';
import { isOnline } from './online';

const t = texts.clients;

const shimEntry = `{
  "mcpServers": {
    "drawbridge": {
      "command": "drawbridge",
      "args": ["stdio"]
    }
  }
}`;

export function ClientsPage({
  labelOf,
  views,
}: {
  labelOf: (server: string) => string;
  /** What each client sees. */
  views?: ReactNode;
}) {
  const { data: clients } = useSuspenseQuery(clientsQuery);
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-6">
          <Connections />
          {clients.length === 0 ? <NoClients /> : <ClientTable clients={clients} />}
          {views}
          <Features labelOf={labelOf} />
          <ConnectHelp />
        </div>
      </div>
    </>
  );
}

function NoClients() {
  return (
    <div className="flex items-start gap-4 rounded-lg border border-dashed border-strong p-4">
      <div className="flex size-10 shrink-0 items-center justify-center rounded-lg bg-accent-soft text-accent">
        <MonitorSmartphone className="size-5" aria-hidden />
      </div>
      <div>
        <h2 className="font-semibold">{t.emptyTitle}</h2>
        <p className="text-ink2">{t.emptyBody}</p>
      </div>
    </div>
  );
}

function ClientTable({ clients }: { clients: Client[] }) {
  return (
    <section aria-labelledby="seen-title">
      <h2 id="seen-title" className="mb-2 font-semibold">
        {t.connected}
      </h2>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {clients.map((client) => (
          <ClientRow key={`${client.token}/${client.name}/${client.version}`} client={client} />
        ))}
      </ul>
    </section>
  );
}

function ClientRow({ client }: { client: Client }) {
  const now = useNow();
  const seen = age(client.lastSeen, now);
  const online = isOnline(client, now);
  const name = client.name || client.token || t.anonymous;
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-t px-4 py-2.5 first:border-t-0 hover:bg-hover sm:grid-cols-[minmax(0,1fr)_8.5rem_6rem_7rem]">
      <div className="min-w-0">
        <Link
          to="/calls"
          search={{ client: client.name || undefined }}
          className="block truncate font-semibold outline-offset-[-2px] after:absolute after:inset-0"
        >
          {plain(name)}
          {client.version && (
            <span className="ml-2 text-sm font-normal text-ink3">{plain(client.version)}</span>
          )}
        </Link>
        <div className="truncate text-xs text-ink3">
          {t.columns.token}: {client.token ? plain(client.token) : t.noToken}
        </div>
      </div>
      <div className="hidden text-sm text-ink2 sm:block">
        {client.sessions > 0 && t.sessions(count(client.sessions))}
      </div>
      <div className="hidden text-sm text-ink2 sm:block">{t.calls(count(client.calls))}</div>
      <div
        className={online ? 'text-right text-sm text-ok' : 'text-right text-sm text-ink3'}
        title={exactTime(client.lastSeen)}
      >
        {seen && texts.servers.ago(seen)}
      </div>
    </li>
  );
}

/** How to connect a client that Drawbridge does not know. */
export function ConnectHelp() {
  const { url, requireToken } = useSuspenseQuery(statusQuery).data;
  return (
    <section aria-labelledby="connect-title">
      <h2 id="connect-title" className="font-semibold">
        {t.connect}
      </h2>
      <p className="mt-0.5 text-sm text-ink2">{t.connectBody}</p>
      <div className="mt-3 grid gap-3 lg:grid-cols-2">
        <Card title={t.other}>
          <p className="text-sm text-ink2">{t.otherBody}</p>
          <Labelled label={t.address}>
            <CopyField text={`${url}/mcp`} label={t.address} />
          </Labelled>
          {requireToken && (
            <>
              <p className="text-sm text-ink2">
                {t.tokenFrom}{' '}
                <Link to="/settings" className="text-accent underline underline-offset-2">
                  {texts.settings.title}
                </Link>
                {t.tokenOr} <code className="font-mono text-xs">drawbridge token my-client</code>.
              </p>
              <Labelled label={t.header}>
                <CopyField text="Authorization: Bearer TOKEN" label={t.header} />
              </Labelled>
            </>
          )}
        </Card>
        <Card title={t.stdio}>
          <p className="text-sm text-ink2">{t.stdioBody}</p>
          <CopyField text={shimEntry} label={t.entry} />
        </Card>
      </div>
    </section>
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

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <p className="mb-1 text-xs text-ink3">{label}</p>
      {children}
    </div>
  );
}
