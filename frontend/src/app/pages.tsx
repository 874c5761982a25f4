import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useParams } from '@tanstack/react-router';
import { MapPinOff } from 'lucide-react';
import { useCallback, useMemo } from 'react';
import { buttonClasses } from '@/components/button';
import { Boundary, Empty } from '@/components/page';
import { Split } from '@/components/split';
import { useLiveCalls } from '@/features/calls/api';
import { CallDetail } from '@/features/calls/call-detail';
import { CallsPage, type Choice } from '@/features/calls/calls-page';
import { clientsQuery } from '@/features/clients/api';
import { serversQuery } from '@/features/servers/api';
import { ServerDetail } from '@/features/servers/server-detail';
import { ServersPage } from '@/features/servers/servers-page';
import { useConnection } from '@/lib/connection';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import { OverviewPage } from './overview-page';

/** Here features meet: what one page needs of another feature is handed to it. */

export function OverviewRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <OverviewPage />
    </Boundary>
  );
}

export function ServersRoute() {
  const { epoch } = useConnection();
  const { id } = useParams({ strict: false });
  const navigate = getRouteApi('/servers').useNavigate();
  const close = useCallback(() => navigate({ to: '/servers', search: (old) => old }), [navigate]);
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
            <ServerDetail id={id} onClose={close} />
          </Boundary>
        ) : null
      }
    />
  );
}

export function CallsRoute() {
  const { epoch } = useConnection();
  const { id } = useParams({ strict: false });
  const navigate = getRouteApi('/calls').useNavigate();
  const close = useCallback(() => navigate({ to: '/calls', search: (old) => old }), [navigate]);
  return (
    <Split
      list={
        <CallsPage
          selected={id}
          servers={useServerChoices()}
          clients={useClientChoices()}
          epoch={epoch}
        />
      }
      detail={
        id ? (
          <Boundary key={id} epoch={epoch}>
            <CallDetail id={id} onClose={close} />
          </Boundary>
        ) : null
      }
    />
  );
}

function useServerChoices(): Choice[] {
  const { data } = useQuery(serversQuery);
  return useMemo(
    () =>
      (data ?? []).map((server) => ({ value: server.id, text: plain(server.label || server.id) })),
    [data],
  );
}

/** The clients that the daemon knows, and those that are calling right now. */
function useClientChoices(): Choice[] {
  const { data: known } = useQuery({ ...clientsQuery, refetchInterval: false, staleTime: 60_000 });
  const live = useLiveCalls();
  const names = [
    ...new Set([...(known ?? []).map((c) => c.name), ...live.map((c) => c.client)]),
  ].filter(Boolean);
  const key = names.sort().join('\n');
  return useMemo(
    () =>
      key
        .split('\n')
        .filter(Boolean)
        .map((name) => ({ value: name, text: plain(name) })),
    [key],
  );
}

export function NotFound() {
  return (
    <Empty icon={MapPinOff} title={texts.errors.notFound} heading="h1">
      <p>{texts.errors.notFoundBody}</p>
      <Link to="/" className={`mt-4 ${buttonClasses('primary')}`}>
        {texts.errors.home}
      </Link>
    </Empty>
  );
}
