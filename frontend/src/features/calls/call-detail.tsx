import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileQuestion, TriangleAlert } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { Section } from '@/components/fields';
import { OutcomeBadge } from '@/components/outcome-badge';
import { Failed, Loading } from '@/components/page';
import { resultSays } from '@/components/result-text';
import { DetailFrame, Gone } from '@/components/split-view';
import { useApprovalOf } from '@/lib/approvals-query';
import { classes } from '@/lib/class-names';
import { cut, escapeControlCharacters, exactTime, sentence } from '@/lib/format';
import { RequestError } from '@/lib/request';
import { useServerName } from '@/lib/server-lookup';
import type { Call, CallDetail as Detail } from '@/types/api';
import { callQueryOptions, useLiveCalls } from './api';
import { CallActions } from './call-actions';
import { CallDuration } from './call-duration';
import { CallFacts, Timing } from './call-facts';
import { CallNote } from './call-note';
import { Payloads } from './call-payloads';
import { callName, reasonOf } from './call-row';
import { Compare, useCompared } from './compare-calls';
import { isFailure } from './filters';
import { ProgressLog } from './progress-log';
import { openTaskStatus } from './task-steps';
import { TaskTimeline } from './task-timeline';
import { callsTexts } from './texts';

/** One call: its request and response, its duration, and the actions for it. */
export function CallDetail({
  id,
  toolOf,
  remedy,
  makeRule,
  onClose,
}: {
  id: string;
  /** The current name of its tool, and whether that is read-only. */
  toolOf: (call: Call) => { name: string; readOnly: boolean };
  /** Further actions for a call that failed. */
  remedy?: (call: Detail) => ReactNode;
  /** A button that creates a rule from a call that can be repeated. */
  makeRule?: (call: Call) => ReactNode;
  onClose: () => void;
}) {
  const labelOf = useServerName();
  const live = useLiveCalls();
  const stored = useQuery(callQueryOptions(id));
  const known = live.find((call) => call.id === id);
  // The same object while nothing changes: rendering payloads again is expensive.
  const call = useMemo<Detail | undefined>(
    () => (known ? { ...stored.data, ...known } : stored.data),
    [known, stored.data],
  );
  const compared = useCompared(call);
  const approval = useApprovalOf(call ?? unknownCall);

  if (!call) {
    if (stored.error instanceof RequestError && stored.error.status === 404)
      return (
        <Gone
          id={id}
          title="Call"
          icon={FileQuestion}
          what="This call is not in the history"
          onClose={onClose}
        >
          {callsTexts.gone}
        </Gone>
      );
    return (
      // Replaced by that of the call, whose header is higher.
      <DetailFrame key="loading" id={id} title="Call" onClose={onClose}>
        {stored.isPending ? (
          <Loading />
        ) : (
          <Failed error={stored.error} onRetry={() => stored.refetch()} />
        )}
      </DetailFrame>
    );
  }
  // So far only its event is known: show the actions and payloads together, once they are loaded.
  // The actions take up their space from the start, which can be several lines.
  const coming = (stored.isPending && call.outcome !== '') || !compared;
  return (
    <DetailFrame
      id={id}
      title={
        <>
          {call.server && (
            <span className="font-normal text-ink3">
              {escapeControlCharacters(cut(labelOf(call.server), 40))} /{' '}
            </span>
          )}
          {escapeControlCharacters(callName(call).slice(0, 500))}
        </>
      }
      meta={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <OutcomeBadge
            waiting={approval !== undefined}
            outcome={call.outcome}
            code={call.code}
            taskStatus={openTaskStatus(call)}
            className="font-medium"
          />
          <span>
            <CallDuration call={call} />
          </span>
          <span className="text-ink3">{exactTime(call.at)}</span>
          {call.outcome === '' && call.progress > 0 && (
            <span role="status">{callsTexts.progress(call.progress)}</span>
          )}
        </span>
      }
      actions={
        <div className={coming ? 'invisible' : undefined}>
          <CallActions
            call={call}
            server={labelOf(call.server)}
            tool={toolOf(call)}
            makeRule={makeRule}
            onGone={onClose}
          />
        </div>
      }
      onClose={onClose}
    >
      {coming ? (
        <Loading />
      ) : (
        <Content
          call={approval ? { ...call, arguments: approval.arguments } : call}
          waiting={approval !== undefined}
          loading={stored.isPending && !approval}
          remedy={remedy}
        />
      )}
    </DetailFrame>
  );
}

const unknownCall = { id: '', outcome: 'ok', method: '', server: '' } as const;

function Content({
  call,
  waiting,
  loading,
  remedy,
}: {
  call: Detail;
  /** Whether it waits for the user. */
  waiting: boolean;
  loading: boolean;
  remedy: ((call: Detail) => ReactNode) | undefined;
}) {
  const labelOf = useServerName();
  return (
    <>
      {waiting && (
        <p className="flex flex-wrap items-center gap-3 bg-warn-soft px-4 py-3 text-sm text-warn md:px-5">
          This call waits for you.
          <Link to="/approvals" className="font-medium underline underline-offset-2">
            Review
          </Link>
        </p>
      )}
      {call.reason && !resultSays(call.result, call.reason) && (
        <p
          className={classes(
            'px-4 py-3 text-sm [overflow-wrap:anywhere] md:px-5',
            isFailure(call) ? 'bg-bad-soft text-bad' : 'bg-sunken text-ink2',
          )}
        >
          {escapeControlCharacters(sentence(reasonOf(call).slice(0, 4000)))}
        </p>
      )}
      {call.invalid && (
        <div className="flex gap-2 bg-warn-soft px-4 py-3 text-sm text-warn md:px-5">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <p className="min-w-0 [overflow-wrap:anywhere]">
            <span className="font-medium">The result does not match the tool’s output schema.</span>{' '}
            {escapeControlCharacters(call.invalid.slice(0, 1000))}
          </p>
        </div>
      )}
      {call.outcome !== '' && remedy?.(call)}
      <Compare call={call} />
      <TaskTimeline call={call} />
      <Payloads call={call} loading={loading} />
      <ProgressLog call={call} />
      {call.outcome !== '' && <CallNote key={call.id} call={call} />}
      {call.outcome !== '' && (
        <Section title="Timing">
          <Timing call={call} />
        </Section>
      )}
      <Section title="About">
        <CallFacts call={call} server={labelOf(call.server)} />
      </Section>
    </>
  );
}
