import { QueryClient } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import type { Call } from '@/types/api';
import { liveCallsQuery, parseDetail } from './api';
import { applyCallSnapshot, applyCalls, mergeCalls } from './events';
import { callFilters, callQuery, matchesCall } from './filters';
import { merged } from './use-calls';

const call = (id: number, more: Partial<Call> = {}): Call =>
  ({ id: String(id), outcome: 'ok', server: 'files', client: 'c', tool: 't', ...more }) as Call;
const ids = (calls: Call[]) => calls.map((c) => c.id);

it('new calls come first, known ones are updated in place', () => {
  const merged = mergeCalls([call(9, { outcome: '' }), call(8)], [call(11), call(9), call(10)]);
  expect(ids(merged)).toEqual(['11', '10', '9', '8']);
  expect(merged[2]?.outcome).toBe('ok');
});

it('a late call is inserted in order', () => {
  expect(ids(mergeCalls([call(9), call(7)], [call(8)]))).toEqual(['9', '8', '7']);
});

it('unchanged calls stay the same objects', () => {
  const old = call(1);
  expect(mergeCalls([old], [call(2)])[1]).toBe(old);
});

it('a request about a task is not listed, and refreshes the call of the task', async () => {
  const client = new QueryClient();
  const task = { call: '1', id: 'a', status: 'completed', ended: true };
  const answer = Response.json(call(1, { outcome: 'tool_error', task }));
  const fetched = vi.spyOn(globalThis, 'fetch').mockResolvedValue(answer);
  const request = call(2, { method: 'tasks/get', task: { ...task, id: '' } });
  applyCallSnapshot(client, [call(1), { ...request, outcome: '' }]);
  applyCalls(client, [request]);
  const live = () => client.getQueryData(liveCallsQuery.queryKey) ?? [];
  expect(ids(live())).toEqual(['1']);
  await vi.waitFor(() => expect(live()[0]?.outcome).toBe('tool_error'));
  expect(fetched).toHaveBeenCalledOnce();
  fetched.mockRestore();
});

it('the number of live calls is limited', () => {
  const client = new QueryClient();
  applyCallSnapshot(client, [call(1)]);
  for (let i = 0; i < 50; i++) {
    applyCalls(
      client,
      Array.from({ length: 100 }, (_, j) => call(10_000 + i * 100 + j)),
    );
  }
  const live = client.getQueryData(liveCallsQuery.queryKey) ?? [];
  expect(live.length).toBeLessThanOrEqual(2000);
  expect(live[0]?.id).toBe('14999');
});

it('live calls are merged into the history in order, without duplicates', () => {
  const stored = [call(9, { outcome: '' }), call(7), call(5)];
  const places = new Map(stored.map((c, i) => [c.id, i]));
  const list = merged(stored, places, [call(11), call(9), call(8), call(6)], {}, false);
  expect(ids(list)).toEqual(['11', '9', '8', '7', '6', '5']);
  expect(list[1]?.outcome).toBe('ok'); // it has ended since
  expect(stored[0]?.outcome).toBe('');
  expect(ids(merged(stored, places, [call(11), call(9)], { q: 'x' }, true))).toEqual([
    '9',
    '7',
    '5',
  ]);
});

it('filters match running and failed calls', () => {
  expect(matchesCall(call(1, { outcome: '' }), { outcome: 'running' })).toBe(true);
  expect(matchesCall(call(1, { outcome: 'timeout' }), { outcome: 'failed' })).toBe(true);
  expect(matchesCall(call(1, { outcome: 'cancelled' }), { outcome: 'failed' })).toBe(false);
  expect(matchesCall(call(1), { server: 'other' })).toBe(false);
});

it('a call with an open task is filtered by the state of the task', () => {
  const task = { call: '1', id: 'a', status: 'working', ended: false };
  for (const [status, outcome] of [
    ['working', 'working'],
    ['queued', 'working'],
    ['input_required', 'input_required'],
    ['expired', 'expired'],
  ] as const) {
    const open = call(1, { task: { ...task, status } });
    expect(matchesCall(open, { outcome })).toBe(true);
    expect(matchesCall(open, { outcome: 'ok' })).toBe(false);
  }
  const ended = call(1, { task: { ...task, status: 'completed', ended: true } });
  expect(matchesCall(ended, { outcome: 'ok' })).toBe(true);
});

it('calls are filtered by time and duration', () => {
  const at = (iso: string) => call(1, { at: iso, tookNs: 2e9 });
  const now = Date.parse('2026-11-21T12:00:00Z');
  expect(matchesCall(at('2026-11-21T11:30:00Z'), { range: '1h' }, now)).toBe(true);
  expect(matchesCall(at('2026-11-21T10:30:00Z'), { range: '1h' }, now)).toBe(false);
  expect(matchesCall(at('2026-11-21T11:30:00Z'), { slow: '3000' }, now)).toBe(false);
  expect(callFilters({ slow: '1500', range: 'x', nonsense: '1' })).toEqual({ slow: '1500' });
});

it('only filters of the API are sent to the daemon', () => {
  expect(callQuery({ outcome: 'running', server: 'a b' }, '', 10)).toBe('limit=10&server=a+b');
  expect(callQuery({ outcome: 'timeout' }, '77', 10)).toBe('limit=10&before=77&outcome=timeout');
});

it('payloads keep their text, in a string or as raw JSON', () => {
  const text =
    '{"id":"1","arguments":"{\\"n\\":9007199254740993}","result":{"n":1.0},"error":null}';
  expect(parseDetail(text)).toMatchObject({
    arguments: '{"n":9007199254740993}',
    result: '{"n":1.0}',
    error: undefined,
  });
});
