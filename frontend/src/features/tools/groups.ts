import { texts } from '@/lib/texts';
import type { Tool } from '@/types/api';
import { effects } from './schema';

const t = texts.tools;

export const groupings = ['server', 'prefix', 'effect'] as const;
export type Grouping = (typeof groupings)[number];

export interface Group {
  title: string;
  tools: Tool[];
}

/** Groups the tools; the groups are in the order of their first tools. */
export function grouped(tools: Tool[], by: Grouping, labelOf: (server: string) => string): Group[] {
  const prefixes = by === 'prefix' ? sharedPrefixes(tools) : undefined;
  const keyOf = (tool: Tool): string => {
    if (by === 'server') return tool.server;
    if (by === 'effect') return effectOf(tool);
    const prefix = prefixOf(tool.tool);
    return prefixes?.has(prefix) ? prefix : '';
  };
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const key = keyOf(tool);
    const group = groups.get(key);
    if (group) group.push(tool);
    else groups.set(key, [tool]);
  }
  const list = [...groups].map(([key, group]) => ({
    title:
      by === 'server' ? labelOf(key) : key || (by === 'prefix' ? 'No prefix' : 'Effect unknown'),
    tools: group,
    last: key === '',
  }));
  // The group of the remaining tools comes last.
  return list.sort((a, b) => Number(a.last) - Number(b.last));
}

function effectOf(tool: Tool): string {
  const { destructive, readOnly, openWorld } = effects(tool.annotations);
  if (destructive) return t.effects.destructive;
  if (readOnly) return t.effects.readOnly;
  return openWorld ? t.effects.openWorld : '';
}

/** "issue" of "issue_read", "issue.read" or "issueRead"; "" if the name is one word. */
function prefixOf(name: string): string {
  return /^([A-Za-z0-9]+?)(?:[_\-./:]|(?<=[a-z0-9])(?=[A-Z]))/.exec(name)?.[1] ?? '';
}

function sharedPrefixes(tools: Tool[]): Set<string> {
  const seen = new Map<string, number>();
  for (const tool of tools) {
    const prefix = prefixOf(tool.tool);
    seen.set(prefix, (seen.get(prefix) ?? 0) + 1);
  }
  return new Set([...seen].filter(([prefix, n]) => prefix && n > 1).map(([prefix]) => prefix));
}

/** Estimates the tokens of a tool's definition: four characters per token. */
export function tokenCost(tool: Tool): number {
  const text = tool.raw?.length
    ? tool.raw.length
    : tool.name.length + tool.description.length + tool.inputSchema.length;
  return Math.ceil(text / 4);
}
