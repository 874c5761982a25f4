import { Boundary } from '@/components/page';
import { ApprovalsPage } from '@/features/approvals/approvals-page';
import { useServerLabel } from '@/features/servers/api';
import { ToolChanges } from '@/features/trust/tool-changes';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';

export function ApprovalsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={texts.approvals.title}>
      <ApprovalsPage
        labelOf={useServerLabel()}
        changesOf={(server) => <ToolChanges server={server} />}
      />
    </Boundary>
  );
}
