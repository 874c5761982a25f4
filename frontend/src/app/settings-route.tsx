import { Boundary } from '@/components/page';
import { SignIns, useHasSignIns } from '@/features/servers/sign-in-list';
import { ConfigPage } from '@/features/settings/config-page';
import { SettingsPage } from '@/features/settings/settings-page';
import { texts } from '@/lib/texts';

export { RuleFromCall } from '@/features/policy/rule-from-call';

export function SettingsRoute() {
  return (
    <Boundary title="Settings">
      <Settings />
    </Boundary>
  );
}

function Settings() {
  return <SettingsPage signIns={useHasSignIns() && <SignIns />} />;
}

export function ConfigurationRoute() {
  return (
    <Boundary title={texts.configCopies.title}>
      <ConfigPage />
    </Boundary>
  );
}
