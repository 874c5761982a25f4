import { queryOptions } from '@tanstack/react-query';
import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { requestText } from '@/lib/request';
import type { Tool } from '@/types/api';

export const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: async ({ signal }) => parseTools(await requestText('GET', '/api/v1/tools', { signal })),
  staleTime: Number.POSITIVE_INFINITY, // a catalog event invalidates it
});

/** Schemas are JSON text in a string; an object in place of the string is kept as raw text. */
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
  /** The error message; "" without an error. */
  error: string;
  callId: string;
  /** The response from the server as JSON text; "" without a response. */
  raw: string;
}

/** Calls a tool. `args` is JSON text that is sent to the server unchanged. */
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
