import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Boundary } from '@/components/page';
import { toolsQuery } from '@/features/tools/api';
import { tokenCost } from '@/features/tools/groups';
import { UsagePage } from '@/features/usage/usage-page';
import { texts } from '@/lib/texts';

export function UsageRoute() {
  const { data: tools } = useQuery(toolsQuery);
  const costs = useMemo(
    () =>
      (tools ?? []).map((tool) => ({
        server: tool.server,
        tool: tool.tool,
        publicName: tool.name,
        tokens: tokenCost(tool),
      })),
    [tools],
  );
  return (
    <Boundary title={texts.usage.title}>
      <UsagePage costs={costs} />
    </Boundary>
  );
}
