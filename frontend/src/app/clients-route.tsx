import { useQuery } from '@tanstack/react-query';
import { Boundary, LoadingPage } from '@/components/page';
import { connectionsQuery, featuresQuery } from '@/features/clients/api';
import { ClientsPage } from '@/features/clients/clients-page';
import { ClientAccess } from '@/features/profiles/client-access';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';

export function ClientsRoute() {
  // Wait for the responses of the parts above other content, to avoid layout shifts.
  const profiles = useQuery(profilesQuery);
  const ready = useAllQueriesAnswered([
    useQuery(connectionsQuery),
    profiles,
    useQuery(featuresQuery),
  ]);
  if (!ready) return <LoadingPage title={texts.clients.title} />;
  return (
    <Boundary title={texts.clients.title}>
      <ClientsPage
        tokens={(profiles.data?.clients ?? []).map((view) => view.token)}
        access={(token) => <ClientAccess token={token} />}
      />
    </Boundary>
  );
}
