import type { Call, CallDetail } from '@/types/api';

/** A recorded request of a task. */
export interface TaskStep {
  id: string;
  at: string;
  method: string;
  /** The status of the task in the response, as the server sent it; "" if there is none. */
  status: string;
}

interface TaskFields {
  status?: unknown;
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

/** Whether this is a request about the task of another call. */
export const isTaskRequest = (call: Call) => call.task !== undefined && call.task.call !== call.id;

/** The status of the task of a call if the task has not ended. */
export const openTaskStatus = (call: Call) =>
  call.task && !isTaskRequest(call) && !call.task.ended ? call.task.status : undefined;

export function taskStep(call: CallDetail): TaskStep {
  const result = fields(call.taskCreated ?? call.result);
  const status =
    call.method === 'tasks/result' ? undefined : (result.status ?? result.task?.status);
  return {
    id: call.id,
    at: call.at,
    method: call.method,
    status: typeof status === 'string' ? status : '',
  };
}
