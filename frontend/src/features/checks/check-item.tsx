import { skipToken, useIsMutating, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, CircleDashed, LoaderCircle, Play, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { Failure } from '@/components/failure';
import { JsonView } from '@/components/json-view';
import { MergeDiff } from '@/components/lazy-code-editor';
import { More } from '@/components/more';
import { mostChanges, textOfSide } from '@/lib/changes-as-text';
import { age, count, duration, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Call, CheckReport, LastRun, SavedCheck, StepReport } from '@/types/api';
import { reportKey, runKey, useRemoveCheck, useRunCheck } from './api';
import { expectations, stepsBegun } from './step-expectations';

const autoShortTexts = withoutPrototypes({
  '': 'runs automatically if all its tools are read-only',
  on: 'runs automatically after each change',
  off: 'never runs automatically',
} as const);

const moreChanges = (n: string) => (n === '1' ? '1 more difference.' : `${n} more differences.`);

const answeredBy = (version: string, recorded: string) =>
  !recorded || recorded === version
    ? `Handled by ${version}`
    : `Handled by ${version}, recorded with ${recorded}`;

const words = {
  passed: 'Passed',
  failed: (n: number, all: number) => (all === 1 ? 'Failed' : `${n} of ${all} calls failed`),
  run: 'Run',
};

const t = texts.checks;

/** One check: its last result, its expectations, and the report of its run on this page. */
export function CheckItem({
  check,
  isReadOnly,
  calls,
}: {
  check: SavedCheck;
  isReadOnly: (server: string, tool: string) => boolean;
  /** The newest calls, including those of a run in progress, which show its progress. */
  calls: Call[];
}) {
  const { name, steps } = check;
  const nameOf = useNameOf();
  const title = escapeControlCharacters(name.slice(0, 100));
  const [asking, setAsking] = useState<'run' | 'remove' | undefined>(undefined);
  const [open, setOpen] = useState(false);
  const run = useRunCheck(name);
  const remove = useRemoveCheck();
  const running = useIsMutating({ mutationKey: runKey(name) }) > 0;
  const { data: report } = useQuery<CheckReport>({
    queryKey: reportKey(name),
    queryFn: skipToken,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const start = () => {
    setAsking(undefined);
    run.mutate(undefined, {
      onSuccess: ({ ok }) => toast(ok ? 'ok' : 'bad', ok ? `${title} passed.` : `${title} failed.`),
    });
  };
  const writing = steps.filter((step) => !isReadOnly(step.server, step.tool));
  return (
    <li className="border-t px-4 py-3 first:border-t-0">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <h2 className="font-semibold [overflow-wrap:anywhere]">{title}</h2>
          <LastRunResult last={check.last} steps={steps.length} />
          <p className="text-xs text-ink3">
            {steps.length === 1 ? '1 call' : `${steps.length} calls`} ·{' '}
            {autoShortTexts[check.auto ?? ''] ?? check.auto}
          </p>
        </div>
        <div className="flex shrink-0 items-center gap-1">
          <Button
            small
            look="quiet"
            className="max-sm:-ml-2"
            aria-expanded={open}
            aria-label={`Expected results: ${title}`}
            onClick={() => setOpen((on) => !on)}
          >
            Expected results
          </Button>
          <Button
            small
            disabled={running}
            aria-label={`Run ${title}`}
            onClick={() => (writing.length === 0 ? start() : setAsking('run'))}
          >
            {running ? (
              <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
            ) : (
              <Play className="size-3.5" aria-hidden />
            )}
            {words.run}
          </Button>
          <IconButton small label={`Delete ${title}`} onClick={() => setAsking('remove')}>
            <Trash2 className="size-3.5" aria-hidden />
          </IconButton>
        </div>
      </div>
      {running && <Progress steps={steps} calls={calls} />}
      {run.isError && !running && <Failure error={run.error} className="mt-2" />}
      {open && <Expected check={check} />}
      {report && !running && <Report report={report} />}
      {asking === 'run' && (
        <Confirm
          title={`Run ${title}?`}
          action={words.run}
          danger={false}
          onConfirm={start}
          onClose={() => setAsking(undefined)}
        >
          <p>Some of its tools are not marked read-only. These calls will run:</p>
          <ul className="mt-2 list-disc pl-5 text-sm">
            {writing.slice(0, 20).map((step, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity
              <li key={index}>{nameOf(step)}</li>
            ))}
          </ul>
          <More of={writing.length} shown={20} />
        </Confirm>
      )}
      {asking === 'remove' && (
        <Confirm
          title={`Delete check ${title}?`}
          action="Delete"
          of={remove}
          onConfirm={() =>
            remove.mutate(name, { onSuccess: () => toast('ok', `${title} deleted.`) })
          }
          onClose={() => setAsking(undefined)}
        >
          Its calls will stay in the history.
        </Confirm>
      )}
    </li>
  );
}

function useNameOf(): (step: { server: string; tool: string }) => string {
  const nameOf = useServerName();
  return ({ server, tool }) => escapeControlCharacters(`${nameOf(server)} / ${tool}`.slice(0, 300));
}

function LastRunResult({ last, steps }: { last: LastRun | undefined; steps: number }) {
  const now = useNow();
  if (!last) {
    return (
      <p className="flex items-center gap-1.5 text-sm text-ink3">
        <CircleDashed className="size-4 shrink-0" aria-hidden />
        Not run yet
      </p>
    );
  }
  const Icon = last.ok ? CircleCheck : CircleAlert;
  return (
    <p className="text-sm [overflow-wrap:anywhere]">
      <span className={last.ok ? 'text-ok' : 'text-bad'}>
        <Icon className="mr-1.5 inline size-4 align-text-bottom" aria-hidden />
        {last.ok ? words.passed : words.failed(last.failed, steps)}
      </span>
      <span className="text-ink3" title={exactTime(last.at)}>
        {' · '}
        {texts.servers.ago(age(last.at, now))}
        {' · '}
        {last.trigger === 'run manually' || last.trigger === 'the user ran it'
          ? 'run manually'
          : `run automatically: ${escapeControlCharacters(last.trigger.slice(0, 300))}`}
      </span>
    </p>
  );
}

/** Which call is in progress, if the run started on this page. */
function Progress({ steps, calls }: { steps: SavedCheck['steps']; calls: Call[] }) {
  const now = useNow();
  const nameOf = useNameOf();
  const [began] = useState(now);
  const at = stepsBegun(steps, calls, began);
  const step = steps[at - 1];
  return (
    <div className="mt-2 text-sm text-ink2">
      <p role="status" className="[overflow-wrap:anywhere]">
        {`Running… ${Math.max(0, Math.round((now - began) / 1000))} s`}
        {step && ` ${`Call ${at} of ${steps.length}: ${nameOf(step)}`}`}
      </p>
      <progress
        aria-label="Progress"
        max={steps.length}
        value={Math.max(0, at - 1)}
        className="mt-1 h-1.5 w-full max-w-64 accent-(--accent)"
      />
    </div>
  );
}

function Expected({ check }: { check: SavedCheck }) {
  const nameOf = useNameOf();
  return (
    <ol className="mt-3 overflow-hidden rounded-md border text-sm">
      {check.steps.map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity
        <li key={index} className="border-t px-3 py-2 first:border-t-0">
          <p className="font-medium [overflow-wrap:anywhere]">{nameOf(step)}</p>
          <ul className="list-disc pl-5 text-ink2">
            {expectations(step.expect).map((said, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same text can be expected twice
              <li key={at} className="[overflow-wrap:anywhere]">
                {escapeControlCharacters(said.slice(0, 500))}
              </li>
            ))}
          </ul>
          {step.arguments && (
            <div className="mt-2">
              <JsonView text={step.arguments} label={texts.calls.arguments} />
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

function Report({ report }: { report: CheckReport }) {
  return (
    <ol
      aria-label={`Report for ${escapeControlCharacters(report.name.slice(0, 100))}`}
      className="mt-3 overflow-hidden rounded-md border"
    >
      {report.steps.map((step, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call that was not recorded has no ID
        <StepResult key={at} step={step} />
      ))}
    </ol>
  );
}

function StepResult({ step }: { step: StepReport }) {
  const nameOf = useNameOf();
  const changes = step.changes ?? [];
  const Icon = step.ok ? CircleCheck : CircleAlert;
  return (
    <li className="border-t px-3 py-2 text-sm first:border-t-0">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className={step.ok ? 'text-ok' : 'text-bad'}>
          <Icon className="mr-1.5 inline size-4 align-text-bottom" aria-hidden />
          <span className="sr-only">{step.ok ? words.passed : words.failed(1, 1)}: </span>
        </span>
        <span className="-ml-3 min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
          {nameOf(step)}
        </span>
        <span className="text-xs text-ink3">
          {texts.outcomes[step.outcome] ?? step.outcome} · {duration(step.tookNs)}
        </span>
        {/^\d+$/.test(step.callId) && (
          <Link
            to="/calls/$id"
            params={{ id: step.callId }}
            className="text-xs text-accent underline-offset-2 hover:underline"
          >
            {t.openCall}
          </Link>
        )}
      </p>
      {step.failures.length > 0 && (
        <ul className="list-disc pl-6 text-bad">
          {step.failures.map((said, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
            <li key={at} className="[overflow-wrap:anywhere]">
              {escapeControlCharacters(said.slice(0, 1000))}
            </li>
          ))}
        </ul>
      )}
      {step.version && (
        <p className="text-xs text-ink3 [overflow-wrap:anywhere]">
          {answeredBy(
            escapeControlCharacters(step.version.slice(0, 300)),
            escapeControlCharacters((step.recordedVersion ?? '').slice(0, 300)),
          )}
        </p>
      )}
      {changes.length > 0 && (
        <div className="mt-2">
          <MergeDiff
            before={textOfSide(changes, 'before', t.whole)}
            after={textOfSide(changes, 'after', t.whole)}
            label="Differences from the recorded result"
          />
        </div>
      )}
      {changes.length > mostChanges && (
        <p className="mt-1 text-xs text-ink3">{moreChanges(count(changes.length - mostChanges))}</p>
      )}
    </li>
  );
}
