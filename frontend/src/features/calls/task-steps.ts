import type { CallDetail } from '@/types/api';

/** A recorded request of a task. */
export interface TaskStep {
  id: string;
  at: string;
  method: string;
  /** Of the task after the request, as the server wrote it; "" when the answer has none. */
  status: string;
  ended: boolean;
}

interface TaskFields {
  taskId?: unknown;
  status?: unknown;
  resultType?: unknown;
  task?: TaskFields | null;
}

function fields(text: string | undefined): TaskFields {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** The id of the task that a call created or asked about. */
export function taskOf(call: CallDetail): string | undefined {
  const result = fields(call.result);
  let id: unknown;
  if (call.method.startsWith('tasks/')) id = fields(call.arguments).taskId;
  else if (call.method === 'tools/call')
    id = result.resultType === 'task' ? result.taskId : result.task?.taskId;
  return typeof id === 'string' && id !== '' && id.length <= 200 ? id : undefined;
}

export function taskStep(call: CallDetail): TaskStep {
  const result = fields(call.result);
  const of = call.method === 'tasks/result' ? undefined : (result.status ?? result.task?.status);
  const status = typeof of === 'string' ? of : '';
  return {
    id: call.id,
    at: call.at,
    method: call.method,
    status,
    ended: call.method === 'tasks/result' || /^(completed|failed|cancelled)$/.test(status),
  };
}
