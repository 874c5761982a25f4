import { byName } from '@/lib/format';
import type { Tool } from '@/types/api';

export const orders = ['server', 'calls', 'tokens'] as const;
/** How the tools are listed: by server, or most called or largest first. */
export type Order = (typeof orders)[number];

export interface Group {
  title: string;
  tools: Tool[];
}

/** The tools by server, ordered by their names; by a number, all in one group without a title. */
export function grouped(
  tools: Tool[],
  by: Order,
  labelOf: (server: string) => string,
  callsOf: (tool: Tool) => number,
): Group[] {
  if (by !== 'server') {
    const value = by === 'calls' ? callsOf : tokenCost;
    const order = (a: Tool, b: Tool) => value(b) - value(a) || byName(a.tool, b.tool);
    return tools.length > 0 ? [{ title: '', tools: tools.toSorted(order) }] : [];
  }
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) groups.set(tool.server, [...(groups.get(tool.server) ?? []), tool]);
  return [...groups]
    .map(([server, own]) => ({
      title: labelOf(server),
      tools: own.toSorted((a, b) => byName(a.tool, b.tool)),
    }))
    .sort((a, b) => byName(a.title, b.title));
}

/** Estimates the tokens of a tool's definition: four characters per token. */
export function tokenCost(tool: Tool): number {
  const text = tool.raw?.length
    ? tool.raw.length
    : tool.name.length + tool.description.length + tool.inputSchema.length;
  return Math.ceil(text / 4);
}
