import { Boundary } from '@/components/page';
import { ApprovalsPage } from '@/features/approvals/approvals-page';
import { RulesPanel } from '@/features/policy/rules-panel';
import { ToolChanges } from '@/features/trust/tool-changes';
import { texts } from '@/lib/texts';

export function ApprovalsRoute() {
  return (
    <Boundary title={texts.approvals.title}>
      <ApprovalsPage
        changesOf={(server) => <ToolChanges server={server} />}
        rules={<RulesPanel />}
      />
    </Boundary>
  );
}
