import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { useLiveCalls } from '@/features/calls/api';
import { ChecksPage } from '@/features/checks/checks-page';
import { toolsQuery } from '@/features/tools/api';
import { effects } from '@/features/tools/schema';
import { texts } from '@/lib/texts';

export { SaveDialog } from '@/features/checks/save-check-dialog';

export function ChecksRoute() {
  const { data: tools } = useQuery(toolsQuery);
  const calls = useLiveCalls();
  const isReadOnly = useCallback(
    (server: string, name: string) => {
      const tool = tools?.find((one) => one.server === server && one.tool === name);
      return tool !== undefined && effects(tool.annotations).readOnly;
    },
    [tools],
  );
  return (
    <Boundary title={texts.checks.title}>
      <ChecksPage isReadOnly={isReadOnly} calls={calls} />
    </Boundary>
  );
}
