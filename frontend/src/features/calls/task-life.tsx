import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Section } from '@/components/fields';
import { classes } from '@/lib/classes';
import { cut, exactTime, plain } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { Call, CallDetail, List } from '@/types/api';
import { parseDetail } from './api';
import { type TaskStep, taskOf, taskStep } from './task-steps';

const t = texts.calls.task;

/** How many recorded requests of a task are shown. */
const mostSteps = 20;

/** The recorded requests of a task, oldest first. A search finds them by the id of the task. */
const taskQuery = (server: string, task: string) =>
  queryOptions({
    queryKey: ['calls', 'task', server, task],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ server, q: task, limit: String(mostSteps) });
      const found = await request<List<Call>>('GET', `/api/v1/calls?${query}`, { signal });
      const details = await Promise.all(
        (found.items ?? []).map(async ({ id }) =>
          parseDetail(await requestText('GET', `/api/v1/calls/${id}`, { signal })),
        ),
      );
      return details
        .filter((detail) => taskOf(detail) === task)
        .reverse()
        .map(taskStep);
    },
    refetchInterval: ({ state }) => (state.data?.at(-1)?.ended ? false : 5000),
  });

/** The life of the task that a call created or asked about. */
export function TaskLife({ call }: { call: CallDetail }) {
  const task = taskOf(call);
  return task === undefined ? null : <Steps call={call} task={task} />;
}

function Steps({ call, task }: { call: CallDetail; task: string }) {
  const steps = useQuery(taskQuery(call.server, task)).data ?? [];
  if (steps.length === 0) return null;
  return (
    <Section title={t.title}>
      <ol className="space-y-1 text-sm" aria-label={t.title}>
        {steps.map((step) => (
          <li key={step.id} className="flex flex-wrap gap-x-3">
            <span className="text-ink3">{exactTime(step.at)}</span>
            <Link
              to="/calls/$id"
              params={{ id: step.id }}
              aria-current={step.id === call.id ? 'true' : undefined}
              className={classes(
                'text-accent underline-offset-2 hover:underline',
                step.id === call.id && 'font-medium',
              )}
            >
              {stepText(step)}
            </Link>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function stepText({ method, status }: TaskStep): string {
  const what = ownValue<string>(t.methods, method) ?? method;
  if (status === '') return what;
  return `${what}: ${ownValue<string>(t.states, status) ?? plain(cut(status, 40))}`;
}
