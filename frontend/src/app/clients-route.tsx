import { Boundary } from '@/components/page';
import { ClientsPage } from '@/features/clients/clients-page';
import { useServerLabel } from '@/features/servers/api';
import { useConnection } from '@/lib/connection';

export function ClientsRoute() {
  const { epoch } = useConnection();
  const labelOf = useServerLabel();
  return (
    <Boundary epoch={epoch}>
      <ClientsPage labelOf={labelOf} />
    </Boundary>
  );
}
