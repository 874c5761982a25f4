import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Section } from '@/components/fields';
import { JsonView } from '@/components/json-view';
import { cut, escapeControlCharacters, exactTime } from '@/lib/format';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { CallDetail } from '@/types/api';
import { parseDetail } from './api';
import { isTaskRequest, type TaskStep, taskStep } from './task-steps';

const taskTexts = withoutPrototypes({
  methods: {
    'tools/call': 'Created',
    'tasks/get': 'Status',
    'tasks/update': 'Input sent',
    'tasks/cancel': 'Cancellation requested',
    'tasks/result': 'Result fetched',
    'notifications/tasks': 'Notification',
    'notifications/tasks/status': 'Notification',
  },
} as const);

const words = {
  title: 'Task',
};

const t = taskTexts;

/** The maximum number of recorded requests of a task that are shown. */
const mostSteps = 20;

/** The recorded requests about the task of a call, oldest first. */
const taskQuery = (call: CallDetail) => {
  const ids = (call.taskRequests ?? []).map((request) => request.id).slice(0, mostSteps);
  return queryOptions({
    queryKey: ['calls', 'task', call.id, ids],
    queryFn: ({ signal }) =>
      Promise.all(
        ids.map(async (id) =>
          taskStep(parseDetail(await requestText('GET', `/api/v1/calls/${id}`, { signal }))),
        ),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
};

/** The history of the task that a call created; for a request about a task, a link to that call. */
export function TaskTimeline({ call }: { call: CallDetail }) {
  if (!call.task) return null;
  if (!isTaskRequest(call)) return <Steps call={call} />;
  return (
    <Section title={words.title}>
      <p className="text-sm">
        This request belongs to a task that another call started.{' '}
        <Link
          to="/calls/$id"
          params={{ id: call.task.call }}
          className="text-accent underline-offset-2 hover:underline"
        >
          Open call
        </Link>
      </p>
    </Section>
  );
}

function Steps({ call }: { call: CallDetail }) {
  const requests = useQuery(taskQuery(call)).data ?? [];
  const steps = [taskStep(call), ...requests];
  return (
    <Section title={words.title}>
      <ol className="space-y-1 text-sm" aria-label={words.title}>
        {steps.map((step) => (
          <li key={step.id} className="flex flex-wrap gap-x-3">
            <span className="text-ink3">{exactTime(step.at)}</span>
            {step.id === call.id ? (
              stepText(step)
            ) : (
              <Link
                to="/calls/$id"
                params={{ id: step.id }}
                className="text-accent underline-offset-2 hover:underline"
              >
                {stepText(step)}
              </Link>
            )}
          </li>
        ))}
      </ol>
      {call.taskCreated && (
        <div className="mt-3">
          <JsonView text={call.taskCreated} label="Initial response" />
        </div>
      )}
    </Section>
  );
}

function stepText({ method, status }: TaskStep): string {
  const what = ownValue<string>(t.methods, method) ?? method;
  if (status === '') return what;
  return `${what}: ${ownValue<string>(texts.taskStates, status) ?? escapeControlCharacters(cut(status, 40))}`;
}
