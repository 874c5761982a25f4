import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { DetailBoundary, Split } from '@/components/split-view';
import { SessionTimeline } from '@/features/calls/session-timeline';
import { SessionsPage } from '@/features/calls/sessions-page';
import { useServerLabel } from '@/features/servers/api';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';
import { SaveCheck } from './save-check';
import { ServeSession } from './serve-session';

export function SessionsRoute() {
  const { epoch } = useConnection();
  const { session } = useParams({ strict: false });
  const labelOf = useServerLabel();
  const navigate = getRouteApi('/sessions').useNavigate();
  const close = useCallback(() => navigate({ to: '/sessions' }), [navigate]);
  return (
    <Split
      list={
        <Boundary epoch={epoch} title={texts.sessions.title}>
          <SessionsPage selected={session} labelOf={labelOf} />
        </Boundary>
      }
      detail={
        session ? (
          <DetailBoundary
            key={session}
            epoch={epoch}
            id={session}
            title={texts.sessions.one}
            onClose={close}
          >
            <SessionTimeline
              session={session}
              labelOf={labelOf}
              serve={(servers) => <ServeSession session={session} servers={servers} />}
              saveCheck={(ids, done) => <SaveCheck ids={ids} onClose={done} />}
              onClose={close}
            />
          </DetailBoundary>
        ) : null
      }
    />
  );
}
