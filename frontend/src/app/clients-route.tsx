import { Boundary } from '@/components/page';
import { ClientsPage } from '@/features/clients/clients-page';
import { ClientViews } from '@/features/profiles/client-views';
import { useServerLabel } from '@/features/servers/api';
import { useConnection } from '@/lib/connection';
import { useTokens } from './tokens';

export function ClientsRoute() {
  const { epoch } = useConnection();
  const labelOf = useServerLabel();
  const tokens = useTokens();
  return (
    <Boundary epoch={epoch}>
      <ClientsPage labelOf={labelOf} views={<ClientViews tokens={tokens} />} />
    </Boundary>
  );
}
