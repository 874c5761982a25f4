import { Boundary } from '@/components/page';
import { SettingsPage } from '@/features/settings/settings-page';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';

export function SettingsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={texts.settings.title}>
      <SettingsPage />
    </Boundary>
  );
}
