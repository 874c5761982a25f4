import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { SearchField } from '@/components/fields';
import { PageHeader } from '@/components/page';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { serversQuery, versionsQuery, visibleToolsQuery } from './api';
import { NoServers } from './no-servers';
import { ServerRow } from './server-row';

const route = getRouteApi('/servers');

function matchesServer(server: ServerStatus, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [
    server.label,
    server.id,
    server.transport,
    texts.states[server.state],
    server.reason,
    ...(server.tags ?? []),
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function ServersPage({ selected }: { selected: string | undefined }) {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: versions } = useQuery(versionsQuery);
  const { data: visible } = useQuery(visibleToolsQuery);
  const { data: status } = useQuery(statusQuery);
  const idle = servers.every(({ state }) => state === 'disabled') && status?.idle;
  const { q = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = servers.filter((server) => matchesServer(server, q));
  return (
    <>
      <PageHeader
        title={texts.servers.title}
        note={
          servers.length > 0 && (servers.length === 1 ? '1 server' : `${servers.length} servers`)
        }
        action={
          servers.length > 0 && (
            <Link to="/add" className={buttonClasses('primary')}>
              <Plus className="size-4" aria-hidden />
              {texts.add.button}
            </Link>
          )
        }
      >
        {servers.length > 3 && (
          <SearchField
            label="Search servers"
            value={q}
            delayMs={60}
            onChange={(text) =>
              navigate({ to: '.', search: { q: text || undefined }, replace: true })
            }
          />
        )}
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {servers.length === 0 ? (
          <NoServers />
        ) : shown.length === 0 ? (
          <p className="py-10 text-center text-ink2">No server matches this search.</p>
        ) : (
          <ul className="max-w-page space-y-2">
            {idle && <li className="pb-1 text-sm text-ink2">{`${idle.reason}.`}</li>}
            {shown.map((server) => (
              <ServerRow
                key={server.id}
                server={server}
                selected={server.id === selected}
                filter={q || undefined}
                version={versions?.get(server.id)}
                visible={visible?.[server.id]}
                withheld={status?.withheld?.[server.id]}
              />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}
