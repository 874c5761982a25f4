import { queryOptions } from '@tanstack/react-query';
import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { requestText } from '@/lib/request';
import type { Tool } from '@/types/api';

export const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: async ({ signal }) => parseTools(await requestText('GET', '/api/v1/tools', { signal })),
  staleTime: Number.POSITIVE_INFINITY, // a catalog event makes it stale
});

/** Schemas come as JSON text in a string; an object in their place is kept as its own text. */
export function parseTools(text: string): Tool[] {
  const items = jsonElements(jsonMembers(text)?.get('items') ?? '') ?? [];
  return items.map((item) => {
    const tool = JSON.parse(item) as Tool;
    const members = jsonMembers(item);
    for (const name of ['inputSchema', 'outputSchema', 'annotations', 'raw'] as const) {
      const member = members?.get(name) ?? '';
      tool[name] = member === 'null' ? '' : (jsonString(member) ?? member);
    }
    return tool;
  });
}

export interface ToolAnswer {
  success: boolean;
  output: string;
  /** What went wrong, when something did. */
  error: string;
  callId: string;
  /** The server's own answer, as JSON text; "" when it gave none. */
  raw: string;
}

/** Runs a tool. `args` is JSON text and arrives at the server as it was written. */
export async function runTool(tool: Tool, args: string, signal: AbortSignal): Promise<ToolAnswer> {
  const bodyText = `{"server":${JSON.stringify(tool.server)},"tool":${JSON.stringify(tool.tool)},"arguments":${args}}`;
  return parseAnswer(await requestText('POST', '/api/v1/call', { bodyText, signal }));
}

export function parseAnswer(text: string): ToolAnswer {
  const members = jsonMembers(text);
  const raw = members?.get('raw') ?? '';
  const error = members?.get('error') ?? '';
  const output = members?.get('output') ?? '';
  return {
    success: members?.get('success') === 'true',
    output: jsonString(output) ?? (output === 'null' ? '' : output),
    error: jsonString(error) ?? (error === 'null' ? '' : (describeError(error) ?? error)),
    callId: jsonString(members?.get('callId')) ?? members?.get('callId') ?? '',
    raw: raw === 'null' ? '' : (jsonString(raw) ?? raw),
  };
}

function describeError(error: string): string | undefined {
  return jsonString(jsonMembers(error)?.get('message'));
}
