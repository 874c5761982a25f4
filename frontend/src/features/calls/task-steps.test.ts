import { expect, it } from 'vitest';
import type { CallDetail } from '@/types/api';
import { isTaskRequest, openTaskStatus, taskStep } from './task-steps';

const call = (method: string, result: unknown, task?: CallDetail['task']): CallDetail =>
  ({ id: '1', at: '', method, result: JSON.stringify(result), task }) as CallDetail;

it('a step has the status of its response', () => {
  const step = (method: string, result: unknown) => taskStep(call(method, result)).status;
  expect(step('tools/call', { resultType: 'task', taskId: 'a', status: 'working' })).toBe(
    'working',
  );
  expect(step('tools/call', { task: { status: 'input_required' } })).toBe('input_required');
  expect(step('tasks/get', { status: 'completed' })).toBe('completed');
  expect(step('tasks/result', { status: 'of the tool' })).toBe('');
  for (const other of [{ task: null }, { status: 5 }, null, 'x', []])
    expect(step('tasks/get', other)).toBe('');
  const ended = { ...call('tools/call', { content: [] }), taskCreated: '{"status":"working"}' };
  expect(taskStep(ended).status).toBe('working');
});

it('a call shows the status of its task until the task has ended', () => {
  const task = { call: '1', id: 'a', status: 'working', ended: false };
  expect(openTaskStatus(call('tools/call', {}, task))).toBe('working');
  expect(openTaskStatus(call('tools/call', {}, { ...task, ended: true }))).toBeUndefined();
  const request = call('tasks/get', {}, { ...task, call: '2' });
  expect([isTaskRequest(request), openTaskStatus(request)]).toEqual([true, undefined]);
  expect(isTaskRequest(call('tools/call', {}))).toBe(false);
});
