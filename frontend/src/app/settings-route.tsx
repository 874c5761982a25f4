import { Boundary } from '@/components/page';
import { RulesPanel } from '@/features/policy/rules-panel';
import { SettingsPage } from '@/features/settings/settings-page';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';

export { RuleFromCall } from '@/features/policy/rule-from-call';

export function SettingsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={texts.settings.title}>
      <SettingsPage rules={<RulesPanel />} />
    </Boundary>
  );
}
