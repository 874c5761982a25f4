import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { liveCallsQuery, sessionsQuery } from '@/features/calls/api';
import { toolsQuery } from '@/features/tools/api';
import { tokenCost } from '@/features/tools/groups';
import { usageQuery } from '@/features/usage/api';
import type { Call } from '@/types/api';

/** An offered tool with the size of its definition in a model's context. */
export interface CostedTool {
  server: string;
  tool: string;
  publicName: string;
  title: string;
  tokens: number;
  /** Not called in 30 days, although its server has been in use for a week. */
  unused: boolean;
}

const day = 86_400_000;

/** Fewer sessions than this say nothing about which tools are needed. */
const enoughSessions = 5;

const keyOf = ({ server, tool }: { server?: string; tool?: string }) => `${server}/${tool}`;

/** Sorted, so that calls of the same tools are no change. */
const toolsOf = (calls: Call[]) => [...new Set(calls.map(keyOf))].sort();

/** All offered tools, and which of them clients could do without. */
export function useCostedTools(): {
  tools: CostedTool[];
  /** The calls of each tool in 30 days, by "server/tool". */
  calls: Map<string, number> | undefined;
  isPending: boolean;
} {
  const tools = useQuery(toolsQuery);
  const report = useQuery(usageQuery({ range: '30d' }, 60_000));
  const today = Math.floor(Date.now() / day) * day;
  const before = useQuery(
    usageQuery(
      {
        from: new Date(today - 30 * day).toISOString(),
        to: new Date(today - 7 * day).toISOString(),
      },
      3_600_000,
    ),
  );
  const sessions = useInfiniteQuery(sessionsQuery);
  const enough = (sessions.data?.pages[0]?.items?.length ?? 0) >= enoughSessions;
  // The report may be a minute old, and has no calls that have not ended.
  const { data: recent } = useQuery({ ...liveCallsQuery, select: toolsOf });
  const all = tools.data;
  const [uses, early] = [report.data?.tools, before.data?.servers];
  return {
    tools: useMemo(() => {
      const used = new Set([...(uses ?? []).map(keyOf), ...(recent ?? [])]);
      const known = new Set(enough && uses ? early?.map((use) => use.server) : []);
      return (all ?? []).map((tool) => ({
        server: tool.server,
        tool: tool.tool,
        publicName: tool.name,
        title: tool.title || tool.description.slice(0, 200),
        tokens: tokenCost(tool),
        unused: known.has(tool.server) && !used.has(keyOf(tool)),
      }));
    }, [all, uses, early, enough, recent]),
    calls: useMemo(() => uses && new Map(uses.map((use) => [keyOf(use), use.calls])), [uses]),
    isPending: [tools, report, before, sessions].some((query) => query.isPending),
  };
}
