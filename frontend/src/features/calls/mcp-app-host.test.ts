import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { appHost, isJsonObject } from './mcp-app-host';

interface Sent {
  id?: unknown;
  method?: string;
  params?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

let sent: Sent[] = [];
let heights: number[] = [];
let bodies: string[] = [];
let release: () => void = () => {};
let hear: (data: unknown) => void;

beforeEach(() => {
  sent = [];
  heights = [];
  bodies = [];
  const held = new Promise<void>((done) => {
    release = done;
  });
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    bodies.push(String(init.body));
    await held;
    return new Response('{"callId":"1","result":{"content":[]}}');
  });
  hear = appHost({
    callId: '7',
    args: '{"a":1}',
    result: '{"content":[]}',
    context: { theme: 'dark' },
    post: (message) => sent.push(structuredClone(message)),
    resize: (height) => heights.push(height),
    called: () => {},
  });
});
afterEach(() => vi.unstubAllGlobals());

const ask = (id: unknown, method: string, params?: unknown) =>
  hear({ jsonrpc: '2.0', id, method, params });
const answered = (n: number) => vi.waitFor(() => expect(sent).toHaveLength(n), { interval: 1 });

it('an app receives the call once, after its initialization', async () => {
  ask(1, 'ui/initialize', {});
  await answered(1);
  expect(sent[0]?.result).toMatchObject({
    protocolVersion: '2026-01-26',
    hostCapabilities: { serverTools: {} },
    hostContext: { theme: 'dark' },
  });
  for (let n = 0; n < 3; n++) hear({ jsonrpc: '2.0', method: 'ui/notifications/initialized' });
  expect(sent.slice(1)).toEqual([
    { jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: { a: 1 } } },
    { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [] } },
  ]);
});

it('calls of an app are limited in number and size', async () => {
  for (let n = 0; n < 10; n++) ask(n, 'tools/call', { name: 't', arguments: { n } });
  await answered(6); // the rejected calls
  release();
  await answered(10);
  expect(bodies).toHaveLength(4);
  ask('large', 'tools/call', { name: 't', arguments: { x: 'x'.repeat(2 ** 20) } });
  await answered(11);
  expect(sent[10]?.error?.code).toBe(-32602);
  for (let n = 0; n < 250; n++) {
    ask(n, 'tools/call', { name: 't' });
    await answered(12 + n);
  }
  expect(bodies).toHaveLength(200);
});

it('other requests are rejected', async () => {
  const methods = ['ui/open-link', 'ui/message', 'resources/read', 'toString', '__proto__'];
  for (const method of methods) ask(method, method, {});
  await answered(methods.length);
  expect(sent.every((one) => one.error?.code === -32601)).toBe(true);
  const cyclic: Record<string, unknown> = {};
  cyclic.me = cyclic;
  ask(1, 'tools/call', { name: 't', arguments: cyclic });
  ask(2, 'tools/call', { name: 5 });
  await answered(methods.length + 2);
  expect(bodies).toEqual([]);
});

it('invalid messages are ignored', () => {
  for (const junk of [null, 1, 'x', [], {}, { jsonrpc: '2.0' }, { jsonrpc: '2.0', method: 1 }])
    hear(junk);
  ask({}, 'ping');
  for (const height of [Number.NaN, -1, 'x', {}, undefined, 1e9])
    hear({ jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { height } });
  expect(sent).toEqual([]);
  expect(heights).toEqual([2000]);
});

it('a truncated payload is not an object', () => {
  expect(isJsonObject('{"a":1}')).toBe(true);
  for (const text of [undefined, '', '{"a":', '[]', 'null']) expect(isJsonObject(text)).toBe(false);
});
