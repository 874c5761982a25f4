import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { DetailBoundary, Split } from '@/components/split-view';
import { SessionTimeline } from '@/features/calls/session-timeline';
import { SessionsPage } from '@/features/calls/sessions-page';
import { ServeSession } from './serve-session';

export function SessionsRoute() {
  const { session } = useParams({ strict: false });
  const navigate = getRouteApi('/sessions').useNavigate();
  const close = useCallback(() => navigate({ to: '/sessions' }), [navigate]);
  return (
    <Split
      list={
        <Boundary title="Sessions">
          <SessionsPage selected={session} />
        </Boundary>
      }
      detail={
        session ? (
          <DetailBoundary key={session} id={session} title="Session" onClose={close}>
            <SessionTimeline
              session={session}
              serve={(servers) => <ServeSession session={session} servers={servers} />}
              onClose={close}
            />
          </DetailBoundary>
        ) : null
      }
    />
  );
}
