import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Boundary, LoadingPage } from '@/components/page';
import { AccessTokens } from '@/features/clients/access-tokens';
import {
  connectionsQuery,
  featuresQuery,
  manualEntryQuery,
  tokensQuery,
} from '@/features/clients/api';
import { ClientsPage } from '@/features/clients/clients-page';
import { Disconnect } from '@/features/clients/disconnect';
import { ClientAccess, ClientContext } from '@/features/profiles/client-access';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { guestsQuery } from '@/lib/guests-query';
import { profilesQuery } from '@/lib/profiles-query';
import { useServerName } from '@/lib/server-lookup';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/clients');

export function ClientsRoute() {
  const { connect, disconnect } = route.useSearch();
  const navigate = route.useNavigate();
  const connections = useQuery(connectionsQuery);
  const asked = connections.data?.find((one) => one.key === disconnect && one.connected);
  // Wait for the responses of the parts above other content, to avoid layout shifts.
  const profiles = useQuery(profilesQuery);
  const { tools } = useCostedTools();
  const labelOf = useServerName();
  const costs = new Map<string, number>();
  for (const { server, tokens } of tools)
    costs.set(labelOf(server), (costs.get(labelOf(server)) ?? 0) + tokens);
  const ready = useAllQueriesAnswered([
    connections,
    profiles,
    useQuery(featuresQuery),
    useQuery(tokensQuery),
    useQuery(guestsQuery),
    useQuery(manualEntryQuery),
  ]);
  if (!ready) return <LoadingPage title="Clients" />;
  return (
    <Boundary title="Clients">
      <ClientsPage
        connecting={connect}
        tokens={(profiles.data?.clients ?? []).map((view) => view.token)}
        access={(token, connection) => (
          <ClientAccess token={token} tools={tools} connection={connection} />
        )}
        context={(token, connection) => <ClientContext token={token} connection={connection} />}
        costs={costs}
        tokensPanel={<AccessTokens />}
      />
      {asked && (
        <Disconnect connection={asked} onClose={() => navigate({ search: {}, replace: true })} />
      )}
    </Boundary>
  );
}
