import { isRecord } from '@/lib/own-property';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';

const t = texts.calls.app;

/** The version of the MCP Apps protocol that this host implements. */
const protocolVersion = '2026-01-26';

/** Limits for one open app. */
const maxHeight = 2000;
const maxArguments = 1 << 20; // characters of JSON
const maxRunning = 4;
const maxCalls = 200;

/** What the host provides for an app. */
export interface AppSession {
  callId: string;
  /** The arguments of the recorded call, as JSON text. */
  args: string;
  result: string;
  context: Record<string, unknown>;
  /** Posts a message to the frame. */
  post: (message: object) => void;
  resize: (height: number) => void;
  /** Called after each tool call of the app. */
  called: (callId: string, tool: string) => void;
}

interface Message {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: unknown;
}

type Params = Record<string, unknown>;

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** The host side of the MCP Apps protocol: returns a handler for the messages of the app. */
export function appHost(session: AppSession): (data: unknown) => void {
  let running = 0;
  let calls = 0;
  let started = false;

  const notify = (method: string, params: unknown) =>
    session.post({ jsonrpc: '2.0', method, params });

  const callTool = async (params: Params) => {
    const { name } = params;
    if (typeof name !== 'string' || name === '' || name.length > 512)
      throw new Refusal(-32602, t.noTool);
    const args = JSON.stringify(params.arguments ?? {});
    if (args.length > maxArguments) throw new Refusal(-32602, t.argumentsTooLarge);
    if (running >= maxRunning || calls >= maxCalls) throw new Refusal(-32000, t.tooManyCalls);
    running++;
    calls++;
    try {
      const said = await request<{
        callId: string;
        result?: object;
        error?: { code: number; message: string };
      }>('POST', `/api/v1/calls/${encodeURIComponent(session.callId)}/app/call`, {
        bodyText: `{"tool":${JSON.stringify(name)},"arguments":${args}}`,
      });
      session.called(said.callId, name);
      if (said.result) return said.result;
      throw new Refusal(said.error?.code ?? -32000, said.error?.message ?? '');
    } finally {
      running--;
    }
  };

  const answer = async (method: string, params: Params): Promise<object> => {
    switch (method) {
      case 'ui/initialize':
        return {
          protocolVersion,
          hostInfo: { name: 'drawbridge', version: '1' },
          hostCapabilities: { serverTools: {}, sandbox: {} },
          hostContext: { ...session.context, containerDimensions: { maxHeight } },
        };
      case 'ping':
        return {};
      case 'ui/request-display-mode':
        return { mode: 'inline' };
      case 'tools/call':
        return callTool(params);
    }
    throw new Refusal(-32601, t.notSupported);
  };

  const hear = (method: string, params: Params) => {
    if (method === 'ui/notifications/size-changed') {
      const height = Number(params.height);
      if (height >= 0) session.resize(Math.min(Math.ceil(height), maxHeight));
    } else if (method === 'ui/notifications/initialized' && !started) {
      started = true;
      notify('ui/notifications/tool-input', { arguments: JSON.parse(session.args || '{}') });
      notify('ui/notifications/tool-result', JSON.parse(session.result));
    }
  };

  return (data) => {
    if (typeof data !== 'object' || data === null) return;
    const { jsonrpc, id, method, params } = data as Message;
    if (jsonrpc !== '2.0' || typeof method !== 'string') return;
    const given = (typeof params === 'object' && params !== null ? params : {}) as Params;
    if (id === undefined) return hear(method, given);
    if (typeof id !== 'number' && !(typeof id === 'string' && id.length <= 100)) return;
    answer(method, given).then(
      (result) => session.post({ jsonrpc: '2.0', id, result }),
      (error: unknown) =>
        session.post({
          jsonrpc: '2.0',
          id,
          error: {
            code: error instanceof Refusal ? error.code : -32000,
            message: error instanceof Error ? error.message : t.notSupported,
          },
        }),
    );
  };
}

/** Whether a text is a JSON object; a truncated one is not. */
export function isJsonObject(text: string | undefined): text is string {
  try {
    return isRecord(JSON.parse(text ?? ''));
  } catch {
    return false;
  }
}
