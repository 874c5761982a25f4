import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { DetailBoundary, Split } from '@/components/split-view';
import { ServerCalls } from '@/features/calls/recent-calls';
import { serversQuery, useServerID } from '@/features/servers/api';
import { ServerDetail } from '@/features/servers/server-detail';
import type { View } from '@/features/servers/server-page-views';
import { ServersPage } from '@/features/servers/servers-page';
import { ServerTrust } from '@/features/trust/server-trust';
import { ServerVersionSection } from '@/features/trust/server-version';
import { usageQuery } from '@/features/usage/api';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';

export function ServersRoute() {
  const id = useServerID(useParams({ strict: false }).id);
  const { data: report } = useQuery(usageQuery({ range: '24h' }));
  const navigate = getRouteApi('/servers').useNavigate();
  const server = useQuery(serversQuery).data?.find((one) => one.id === id);
  const { view = 'about' } = getRouteApi('/servers').useSearch();
  const close = useCallback(
    () => navigate({ to: '/servers', search: (old) => ({ ...old, tool: undefined }) }),
    [navigate],
  );
  const setView = (next: View) =>
    id &&
    navigate({
      to: '/servers/$id',
      params: { id },
      search: (old) => ({ ...old, view: next === 'about' ? undefined : next, tool: undefined }),
      replace: true,
    });
  return (
    <Split
      list={
        <Boundary title={texts.servers.title}>
          <ServersPage selected={id} uses={report?.servers} />
        </Boundary>
      }
      detail={
        id ? (
          <DetailBoundary
            key={id}
            id={id}
            title={escapeControlCharacters(id.slice(0, 200))}
            onClose={close}
          >
            <ServerDetail
              id={id}
              view={view}
              onView={setView}
              onClose={close}
              trust={(tools) => <ServerTrust server={id}>{tools}</ServerTrust>}
              version={
                <ServerVersionSection
                  server={id}
                  since={server?.since ?? ''}
                  runs={server?.remedy?.kind !== 'install-program'}
                />
              }
              calls={
                <Boundary>
                  <ServerCalls server={id} />
                </Boundary>
              }
            />
          </DetailBoundary>
        ) : null
      }
    />
  );
}
