import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary, Loading } from '@/components/page';
import { DetailBoundary, DetailFrame, Split } from '@/components/split-view';
import { connectionsQuery } from '@/features/clients/api';
import { ProfileDetail } from '@/features/profiles/profile-detail';
import { ProfilesPage } from '@/features/profiles/profiles-page';
import { serversQuery } from '@/features/servers/api';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { escapeControlCharacters } from '@/lib/format';
import { statusQuery } from '@/lib/status-query';
import type { Connection } from '@/types/api';
import { useClientTokenNames } from './client-token-names';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/profiles');

/** The servers of a client whose servers were moved, for a new profile; undefined if it has all. */
function entryOf(connections: Connection[] | undefined, client: string | undefined) {
  const one = connections?.find(({ id, project }) => id === client && !project);
  if (!one?.byServer) return undefined;
  return { servers: Object.fromEntries(one.moved.map(({ server }) => [server, {}])) };
}

export function ProfilesRoute() {
  const { name } = useParams({ strict: false });
  const { make } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const { data: status } = useQuery(statusQuery);
  const { data: connections } = useQuery(connectionsQuery);
  const costed = useCostedTools();
  const ready = useAllQueriesAnswered([costed]); // the unused tools are above the others
  const tokens = useClientTokenNames();
  const close = useCallback(
    () => navigate({ to: '/profiles', search: { make: undefined } }),
    [navigate],
  );
  const title = name === undefined ? 'New profile' : escapeControlCharacters(name);
  return (
    <Split
      list={
        <Boundary title="Profiles">
          <ProfilesPage selected={name} />
        </Boundary>
      }
      detail={
        name !== undefined || make ? (
          <DetailBoundary key={name ?? ''} id={name ?? ''} title={title} onClose={close}>
            {ready ? (
              <ProfileDetail
                name={name}
                client={tokens.find((one) => one === make)}
                initial={entryOf(connections, make)}
                tools={costed.tools}
                servers={(servers ?? []).map((server) => server.id)}
                tokens={tokens}
                url={status?.url ?? ''}
                requireToken={status?.requireToken ?? true}
                onSaved={(saved) =>
                  navigate({
                    to: '/profiles/$name',
                    params: { name: saved },
                    search: {},
                    ignoreBlocker: true, // the changes are saved
                  })
                }
                onRemoved={() =>
                  navigate({ to: '/profiles', search: { make: undefined }, ignoreBlocker: true })
                }
                onClose={close}
              />
            ) : (
              <DetailFrame key="loading" id={name ?? ''} title={title} onClose={close}>
                <Loading />
              </DetailFrame>
            )}
          </DetailBoundary>
        ) : null
      }
    />
  );
}
