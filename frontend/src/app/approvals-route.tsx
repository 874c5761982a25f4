import { useQuery } from '@tanstack/react-query';
import { Boundary } from '@/components/page';
import { ApprovalsPage } from '@/features/approvals/approvals-page';
import { RulesPanel } from '@/features/policy/rules-panel';
import { toolsQuery } from '@/features/tools/api';
import { ToolChanges } from '@/features/trust/tool-changes';
import { texts } from '@/lib/texts';

export function ApprovalsRoute() {
  const { data: tools } = useQuery(toolsQuery);
  return (
    <Boundary title={texts.approvals.title}>
      <ApprovalsPage
        aboutTool={(name) => tools?.find((tool) => tool.name === name)?.description}
        changesOf={(server) => <ToolChanges server={server} />}
        rules={<RulesPanel />}
      />
    </Boundary>
  );
}
