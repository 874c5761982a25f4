import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Boundary, LoadingPage } from '@/components/page';
import {
  connectionsQuery,
  featuresQuery,
  manualEntryQuery,
  useConnectionAction,
} from '@/features/clients/api';
import { ClientsPage } from '@/features/clients/clients-page';
import { Disconnect } from '@/features/clients/disconnect';
import { ClientAccess, ClientContext } from '@/features/profiles/client-access';
import { tokensQuery } from '@/features/settings/api';
import { TokensPanel } from '@/features/settings/tokens-panel';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { guestsQuery } from '@/lib/guests-query';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Connection } from '@/types/api';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/clients');

export function ClientsRoute() {
  const { connect, disconnect } = route.useSearch();
  const connections = useQuery(connectionsQuery);
  const asked = connections.data?.find((one) => one.key === disconnect && one.connected);
  // Wait for the responses of the parts above other content, to avoid layout shifts.
  const profiles = useQuery(profilesQuery);
  const { tools } = useCostedTools();
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
        tokensPanel={<TokensPanel />}
      />
      {asked && <AskDisconnect connection={asked} />}
    </Boundary>
  );
}

/** The question to which the palette leads. */
function AskDisconnect({ connection }: { connection: Connection }) {
  const action = useConnectionAction(connection);
  const navigate = route.useNavigate();
  const close = () => navigate({ search: {}, replace: true });
  const onConfirm = () =>
    action.mutate('undo', {
      onSuccess: ({ result }) =>
        toast(
          'ok',
          texts.connections.done[result === 'removed' ? 'removed' : 'undo'](connection.name),
        ),
      onError: toastError,
      onSettled: close,
    });
  return (
    <Disconnect
      connection={connection}
      pending={action.isPending}
      onConfirm={onConfirm}
      onClose={close}
    />
  );
}
