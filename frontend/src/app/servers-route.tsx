import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { Split } from '@/components/split';
import { ServerDetail } from '@/features/servers/server-detail';
import { ServersPage } from '@/features/servers/servers-page';
import type { View } from '@/features/servers/views';
import { ServerTrust } from '@/features/trust/server-trust';
import { ServerVersionSection } from '@/features/trust/version';
import { useConnection } from '@/lib/connection';

export function ServersRoute() {
  const { epoch } = useConnection();
  const { id } = useParams({ strict: false });
  const navigate = getRouteApi('/servers').useNavigate();
  const { view = 'about' } = getRouteApi('/servers').useSearch();
  const close = useCallback(() => navigate({ to: '/servers', search: (old) => old }), [navigate]);
  const setView = (next: View) =>
    id &&
    navigate({
      to: '/servers/$id',
      params: { id },
      search: (old) => ({ ...old, view: next === 'about' ? undefined : next }),
      replace: true,
    });
  return (
    <Split
      list={
        <Boundary epoch={epoch}>
          <ServersPage selected={id} />
        </Boundary>
      }
      detail={
        id ? (
          <Boundary key={id} epoch={epoch}>
            <ServerDetail
              id={id}
              view={view}
              onView={setView}
              onClose={close}
              trust={(tools) => <ServerTrust server={id}>{tools}</ServerTrust>}
              version={<ServerVersionSection server={id} />}
            />
          </Boundary>
        ) : null
      }
    />
  );
}
