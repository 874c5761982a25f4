import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileQuestion, List } from 'lucide-react';
import type { ReactNode } from 'react';
import { buttonClasses } from '@/components/button';
import { CopyButton } from '@/components/copy-button';
import { outcomeIcon } from '@/components/outcome-badge';
import { RecordInFullMenu } from '@/components/record-in-full-menu';
import { DetailFrame, Gone } from '@/components/split-view';
import { classes } from '@/lib/class-names';
import { count, cut, duration, escapeControlCharacters, exactTime, moment } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { timelineLimit, timelineQuery, useLiveCalls } from './api';
import { CallDuration } from './call-duration';
import { callName, Excerpts } from './call-row';
import { DeleteCallsButton } from './delete-calls-button';
import { ExportMenu } from './export-menu';
import { isFailure } from './filters';
import { SessionFrames } from './session-frames';
import { folderName } from './sessions-page';
import { callsTexts } from './texts';

/** The calls of one session in order, with the pauses between them. */
export function SessionTimeline({
  session,
  serve,
  onClose,
}: {
  session: string;
  /** The button that starts a replay server for the recorded calls to these servers. */
  serve: (servers: string[]) => ReactNode;
  onClose: () => void;
}) {
  const labelOf = useServerName();
  const { data: timeline } = useSuspenseQuery(timelineQuery(session));
  const live = useLiveCalls();
  const known = new Set(timeline.calls.map((call) => call.id));
  const fresh = new Map(live.filter((c) => c.session === session).map((c) => [c.id, c]));
  const calls = [
    ...timeline.calls.map((call) => fresh.get(call.id) ?? call),
    ...[...fresh.values()].filter((call) => !known.has(call.id)).reverse(),
  ];
  const first = calls[0];
  if (!first) {
    return (
      <Gone
        id={session}
        title="Session"
        icon={FileQuestion}
        what="This session is not in the history"
        onClose={onClose}
      >
        {callsTexts.gone}
      </Gone>
    );
  }
  const failed = calls.filter(isFailure).length;
  const start = moment(first.at) ?? 0;
  const servers = [...new Set(calls.filter(canServe).map((call) => call.server))];
  const uses = new Map<string, number>();
  for (const call of calls) uses.set(callName(call), (uses.get(callName(call)) ?? 0) + 1);
  const top = [...uses].sort((a, b) => b[1] - a[1]).slice(0, 3);
  const end = Math.max(...calls.map((call) => (moment(call.at) ?? 0) + call.tookNs / 1e6));
  return (
    <DetailFrame
      id={session}
      title={
        <>
          {escapeControlCharacters(
            (first.client || first.token || texts.calls.unknownClient).slice(0, 200),
          )}
          {first.workspace && (
            <span
              title={escapeControlCharacters(first.workspace)}
              className="font-normal text-ink2"
            >
              {' '}
              in {folderName(first.workspace)}
            </span>
          )}
        </>
      }
      meta={
        <span className="flex flex-wrap gap-x-3">
          <span>{`${exactTime(first.at).slice(0, 19)}, ${duration(Math.max(0, end - start) * 1e6)}`}</span>
          <span>{texts.clients.calls(count(calls.length))}</span>
          {failed > 0 && <span className="text-bad">{callsTexts.failed(count(failed))}</span>}
          <span className="max-w-full truncate text-ink3">
            {top
              .map(([name, n]) => `${escapeControlCharacters(name.slice(0, 60))} ×${n}`)
              .join(', ')}
          </span>
        </span>
      }
      actions={
        <div className="-ml-2 flex flex-wrap items-center">
          <Link to="/calls" search={{ session }} className={buttonClasses('quiet', true)}>
            <List className="size-3.5" aria-hidden />
            Show in Calls
          </Link>
          <CopyButton showLabel label="Copy ID" text={session} />
          <ExportMenu small filters={{ session }} />
          {servers.length > 0 && serve(servers)}
          <RecordInFullMenu session={session} />
          <DeleteCallsButton
            what={{ session }}
            title="Delete all calls in this session?"
            onGone={onClose}
          />
        </div>
      }
      onClose={onClose}
    >
      {timeline.more && (
        <p className="px-5 pt-3 text-xs text-ink3">{`Showing the last ${timelineLimit} calls of this session.`}</p>
      )}
      <ol className="px-4 py-3 md:px-5">
        {calls.map((call, index) => (
          <Step
            key={call.id}
            call={call}
            server={labelOf(call.server)}
            before={calls[index - 1]}
            start={start}
          />
        ))}
      </ol>
      <SessionFrames session={session} />
    </DetailFrame>
  );
}

/** A longer pause between two calls is shown. */
const pauseMs = 20_000;

/** Time since the session's first call. */
const sinceStart = (ms: number) =>
  `+${duration(ms * 1e6).replace(/\.\d+(?= s)/, '')}`.replace('+0 ns', '0 s');

/** Whether a replay server can return the recorded result of the call. */
const canServe = (call: Call) =>
  call.server !== '' &&
  !call.fromServer &&
  ['tools/call', 'prompts/get', 'resources/read'].includes(call.method);

function Step({
  call,
  server,
  before,
  start,
}: {
  call: Call;
  server: string;
  before: Call | undefined;
  start: number;
}) {
  const at = moment(call.at) ?? 0;
  const ended = before ? (moment(before.at) ?? 0) + before.tookNs / 1e6 : at;
  const Icon = outcomeIcon(call.outcome);
  return (
    <>
      {at - ended > pauseMs && (
        <li className="flex items-center gap-3 py-1.5 pl-[7.25rem] text-xs text-ink3">
          <span className="h-px flex-1 bg-line" />
          {`${duration(Math.round((at - ended) / 1000) * 1e9).replace('.0 s', ' s')} later`}
          <span className="h-px flex-1 bg-line" />
        </li>
      )}
      <li className="relative flex gap-3 rounded-md py-1.5 hover:bg-hover">
        <span className="w-24 shrink-0 text-right text-xs leading-5 whitespace-nowrap text-ink3">
          {sinceStart(at - start)}
        </span>
        <span className={classes('pt-0.5', Icon.color)}>
          <Icon.icon className="size-4" aria-hidden />
        </span>
        <span className="min-w-0 flex-1 text-sm">
          <Link
            to="/calls/$id"
            params={{ id: call.id }}
            search={{ session: call.session }}
            className="outline-offset-2 after:absolute after:inset-0 [overflow-wrap:anywhere]"
          >
            {server && (
              <span className="text-ink3">{escapeControlCharacters(cut(server, 40))} / </span>
            )}
            <span className="font-medium">
              {escapeControlCharacters(callName(call).slice(0, 300))}
            </span>
          </Link>
          <span className="sr-only"> {texts.outcomes[call.outcome]}</span>
          <Excerpts call={call} className="mt-0.5" />
        </span>
        <span className="shrink-0 text-xs leading-5 text-ink3">
          <CallDuration call={call} />
        </span>
      </li>
    </>
  );
}
