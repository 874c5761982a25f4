import { expect, it } from 'vitest';
import type { CallDetail } from '@/types/api';
import { taskOf, taskStep } from './task-steps';

const call = (method: string, result: unknown, args: unknown = {}) =>
  ({
    id: '1',
    at: '2026-11-26T08:00:00Z',
    method,
    arguments: JSON.stringify(args),
    result: JSON.stringify(result),
  }) as CallDetail;

it('a task is known by the call that created it and by the requests about it', () => {
  const created = call('tools/call', { resultType: 'task', taskId: 'a', status: 'working' });
  expect([taskOf(created), taskStep(created).status]).toEqual(['a', 'working']);
  const legacy = call('tools/call', { task: { taskId: 'a', status: 'input_required' } });
  expect([taskOf(legacy), taskStep(legacy).status]).toEqual(['a', 'input_required']);
  const done = call('tasks/get', { taskId: 'a', status: 'completed' }, { taskId: 'a' });
  expect([taskOf(done), taskStep(done).ended]).toEqual(['a', true]);
  const sent = call('tasks/update', { resultType: 'complete' }, { taskId: 'a' });
  expect([taskOf(sent), taskStep(sent).status, taskStep(sent).ended]).toEqual(['a', '', false]);
  expect(taskStep(call('tasks/result', { content: [] }, { taskId: 'a' })).ended).toBe(true);
});

it('other results are no tasks', () => {
  for (const result of [{ taskId: 'a' }, { task: null }, { task: { taskId: 5 } }, null, 'x', []])
    expect(taskOf(call('tools/call', result))).toBeUndefined();
  expect(taskOf(call('tasks/get', {}, { taskId: 'x'.repeat(300) }))).toBeUndefined();
  expect(taskOf({ ...call('tools/call', {}), result: '{"resultType":"task"' })).toBeUndefined();
});
