import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { toolsQuery } from '@/features/tools/api';
import { tokenCost } from '@/features/tools/groups';
import { recordedDays, usageQuery } from '@/features/usage/api';

/** An offered tool with the size of its definition in a model's context. */
export interface CostedTool {
  server: string;
  tool: string;
  title: string;
  tokens: number;
  unused: boolean;
}

/**
 * All offered tools, and which of them were not called in the last 30 days. `days` is for how long
 * calls have been recorded; while it is undefined, no tool counts as unused.
 */
export function useCostedTools(): {
  tools: CostedTool[];
  days: number | undefined;
  isPending: boolean;
} {
  const { data: tools, isPending: isPendingTools } = useQuery(toolsQuery);
  const { data: report, isPending: isPendingReport } = useQuery(
    usageQuery({ range: '30d' }, 60_000),
  );
  const isPending = isPendingTools || isPendingReport;
  return useMemo(() => {
    const used = new Set(report?.tools.map((use) => `${use.server}/${use.tool}`));
    return {
      tools: (tools ?? []).map((tool) => ({
        server: tool.server,
        tool: tool.tool,
        title: tool.title || tool.description.slice(0, 200),
        tokens: tokenCost(tool),
        unused: report !== undefined && !used.has(`${tool.server}/${tool.tool}`),
      })),
      days: report && recordedDays(report),
      isPending,
    };
  }, [tools, report, isPending]);
}
