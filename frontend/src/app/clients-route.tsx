import { Boundary } from '@/components/page';
import { ClientsPage } from '@/features/clients/clients-page';
import { useConnection } from '@/lib/connection';

export function ClientsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <ClientsPage />
    </Boundary>
  );
}
