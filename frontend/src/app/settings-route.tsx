import { Boundary } from '@/components/page';
import { RulesPanel } from '@/features/policy/rules-panel';
import { SignIns, useHasSignIns } from '@/features/servers/sign-in-list';
import { SettingsPage } from '@/features/settings/settings-page';
import { texts } from '@/lib/texts';

export { RuleFromCall } from '@/features/policy/rule-from-call';

export function SettingsRoute() {
  return (
    <Boundary title={texts.settings.title}>
      <Settings />
    </Boundary>
  );
}

function Settings() {
  return <SettingsPage rules={<RulesPanel />} signIns={useHasSignIns() && <SignIns />} />;
}
