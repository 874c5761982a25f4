import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useParams } from '@tanstack/react-router';
import { MapPinOff } from 'lucide-react';
import { useCallback } from 'react';
import { buttonClasses } from '@/components/button';
import { Boundary, Empty } from '@/components/page';
import { Split } from '@/components/split';
import { CallDetail } from '@/features/calls/call-detail';
import { CallsPage } from '@/features/calls/calls-page';
import { useServerLabel } from '@/features/servers/api';
import { ServerDetail, type View } from '@/features/servers/server-detail';
import { ServersPage } from '@/features/servers/servers-page';
import { toolsQuery } from '@/features/tools/api';
import { effects } from '@/features/tools/schema';
import { ServerTrust } from '@/features/trust/server-trust';
import { ServerVersionSection } from '@/features/trust/version';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';
import { OverviewPage } from './overview-page';
import { Remedy } from './remedy';
import { SaveCheckButton } from './save-check';

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
              trust={<ServerTrust server={id} />}
              version={<ServerVersionSection server={id} />}
            />
          </Boundary>
        ) : null
      }
    />
  );
}

export function CallsRoute() {
  const { epoch } = useConnection();
  const { id } = useParams({ strict: false });
  const labelOf = useServerLabel();
  const isReadOnly = useIsReadOnly();
  const navigate = getRouteApi('/calls').useNavigate();
  const close = useCallback(() => navigate({ to: '/calls', search: (old) => old }), [navigate]);
  return (
    <Split
      list={<CallsPage selected={id} labelOf={labelOf} epoch={epoch} />}
      detail={
        id ? (
          <Boundary key={id} epoch={epoch}>
            <CallDetail
              id={id}
              isReadOnly={isReadOnly}
              remedy={(call) => <Remedy call={call} />}
              saveCheck={(call) => <SaveCheckButton key={call.id} id={call.id} />}
              onClose={close}
            />
          </Boundary>
        ) : null
      }
    />
  );
}

/** Whether a tool says of itself that it changes nothing; false of one that is not offered now. */
function useIsReadOnly(): (publicName: string) => boolean {
  const { data: tools } = useQuery(toolsQuery);
  return useCallback(
    (publicName) => {
      const tool = tools?.find((one) => one.name === publicName);
      return tool !== undefined && effects(tool.annotations).readOnly;
    },
    [tools],
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
