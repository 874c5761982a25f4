import { useParams } from '@tanstack/react-router';
import { useServerID } from '@/features/servers/api';
import { UpdatePage } from '@/features/trust/update-page';

export function UpdateRoute() {
  const id = useServerID(useParams({ strict: false }).id);
  return id && <UpdatePage key={id} server={id} />;
}
