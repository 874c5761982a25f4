import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary, Loading } from '@/components/page';
import { DetailBoundary, DetailFrame, Split } from '@/components/split-view';
import { connectionsQuery } from '@/features/clients/api';
import { viewOf } from '@/features/profiles/client-access';
import { ProfileDetail } from '@/features/profiles/profile-detail';
import type { Entry } from '@/features/profiles/profile-entry';
import { ProfilesPage } from '@/features/profiles/profiles-page';
import { serversQuery } from '@/features/servers/api';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { statusQuery } from '@/lib/status-query';
import type { ClientSettings, Connection, ToolMode } from '@/types/api';
import { useClientTokenNames } from './client-token-names';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/profiles');

/** What a client has now, for a new profile: the servers that its entries point to, or all, and its tool listing. */
function entryOf(connections: Connection[], { token, toolMode }: ClientSettings): Entry {
  const one = connections.find(({ id, project }) => id === token && !project);
  const moved = one?.byServer && Object.fromEntries(one.moved.map(({ server }) => [server, {}]));
  return { ...(moved && { servers: moved }), ...(toolMode && { toolMode: toolMode as ToolMode }) };
}

export function ProfilesRoute() {
  const { name } = useParams({ strict: false });
  const { make } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const { data: status } = useQuery(statusQuery);
  const connections = useQuery(connectionsQuery);
  const costed = useCostedTools();
  const profiles = useQuery(profilesQuery);
  const ready = useAllQueriesAnswered([costed, profiles, connections]); // the unused tools are above the others
  const tokens = useClientTokenNames();
  const client = tokens.find((one) => one === make);
  const close = useCallback(
    () => navigate({ to: '/profiles', search: { make: undefined } }),
    [navigate],
  );
  const initial =
    client === undefined
      ? undefined
      : entryOf(connections.data ?? [], viewOf(profiles.data?.clients ?? [], client));
  // A client with an entry for each server has no use for others.
  const isListed = (server: string) => !initial?.servers || server in initial.servers;
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
                client={client}
                initial={initial}
                tools={costed.tools.filter((one) => isListed(one.server))}
                servers={(servers ?? []).map((server) => server.id).filter(isListed)}
                tokens={tokens}
                url={status?.url ?? ''}
                requireToken={status?.requireToken ?? true}
                onSaved={(saved) =>
                  navigate({
                    // One that was made for a client was started there.
                    ...(client === undefined
                      ? { to: '/profiles/$name', params: { name: saved } }
                      : { to: '/clients' }),
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
