import { Boundary } from '@/components/page';
import { SettingsPage } from '@/features/settings/settings-page';
import { useConnection } from '@/lib/connection';

export function SettingsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <SettingsPage />
    </Boundary>
  );
}
