import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary, Loading } from '@/components/page';
import { DetailBoundary, DetailFrame, Split } from '@/components/split-view';
import { ProfileDetail } from '@/features/profiles/profile-detail';
import { ProfilesPage } from '@/features/profiles/profiles-page';
import { serversQuery } from '@/features/servers/api';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { escapeControlCharacters } from '@/lib/format';
import { statusQuery } from '@/lib/status-query';
import { useClientTokenNames } from './client-token-names';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/profiles');

export function ProfilesRoute() {
  const { name } = useParams({ strict: false });
  const { make } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const { data: status } = useQuery(statusQuery);
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
