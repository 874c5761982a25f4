import { Boundary } from '@/components/page';
import { AddPage } from '@/features/servers/add-page';
import { useConnection } from '@/lib/connection';

export function AddRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <AddPage />
    </Boundary>
  );
}
