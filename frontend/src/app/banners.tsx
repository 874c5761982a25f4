import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { Banner } from '@/components/banner';
import { Button } from '@/components/button';
import { serversQuery, useServerLabel } from '@/features/servers/api';
import { needsAttention } from '@/features/servers/servers-needing-attention';
import { approvalsQuery } from '@/lib/approvals-query';
import { useConnection } from '@/lib/connection';
import { clock, escapeControlCharacters, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useRecordFull } from '@/lib/record-full';
import { request } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { toastError } from '@/lib/toast';
import type { RecorderStatus, ServerStatus, Status } from '@/types/api';
import { pausedSubject } from './notices-bell';

const recordFullTexts = {
  more: (n: number) =>
    n === 1 ? 'One other recording is active.' : `${n} other recordings are active.`,
} as const;

export const approvalsPending = (n: number) =>
  n === 1 ? '1 approval pending' : `${n} approvals pending`;

/** Banners for every page: a lost connection, configuration errors, lost records. */
export function Banners() {
  const { phase } = useConnection();
  return (
    <>
      {phase === 'reconnecting' && <Lost />}
      <Waiting />
      <Paused />
      <RecordedInFull />
      <StatusBanners />
    </>
  );
}

/** A separate banner for pending approvals; it is never collapsed with the others. */
function Waiting() {
  const { data: approvals } = useQuery(approvalsQuery);
  // These pages say it themselves.
  const here = useRouterState({
    select: (state) => ['/', '/approvals'].includes(state.location.pathname),
  });
  if (!approvals?.length || here) return null;
  return (
    <div role="alert">
      <Banner
        tone="warn"
        action={
          <Link to="/approvals" className="shrink-0 font-medium underline underline-offset-2">
            Review
          </Link>
        }
      >
        {approvalsPending(approvals.length)}
      </Banner>
    </div>
  );
}

function Lost() {
  const { retryAt, retryNow } = useConnection();
  const now = useNow();
  const seconds = retryAt === 0 ? 0 : Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <div role="alert">
      <Banner
        tone="warn"
        action={
          <Button small onClick={retryNow}>
            Try now
          </Button>
        }
      >
        <strong className="font-semibold">Drawbridge is not responding.</strong>{' '}
        {/* Hidden from screen readers: they would announce the countdown every second. */}
        <span aria-hidden className="max-sm:hidden">
          {seconds > 0
            ? `Showing the last known state. Retrying in ${seconds} s.`
            : 'Showing the last known state. Retrying…'}
        </span>{' '}
        If it was ended, start it again: run <code className="font-mono">drawbridge</code>, or open
        it from your applications.
      </Banner>
    </div>
  );
}

/** A separate banner while all servers are paused: nothing works until they are resumed. */
function Paused() {
  const client = useQueryClient();
  const { data: notice } = useQuery({
    ...statusQuery,
    select: ({ notices }) => notices?.find(({ subject }) => subject === pausedSubject),
  });
  const resume = useMutation({
    mutationFn: () => request('PUT', '/api/v1/desktop', { body: { paused: false } }),
    onError: toastError,
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
  if (!notice) return null;
  return (
    <div role="alert">
      <Banner
        tone="warn"
        action={
          <Button small disabled={resume.isPending} onClick={() => resume.mutate()}>
            Resume
          </Button>
        }
      >
        All servers are paused: calls are refused until you resume them.
      </Banner>
    </div>
  );
}

/** More is recorded than usual: the banner is shown until that ends. */
function RecordedInFull() {
  const { data: full } = useQuery({ ...statusQuery, select: (status) => status.recorder?.full });
  const labelOf = useServerLabel();
  const record = useRecordFull();
  const now = useNow();
  const active = (full ?? []).filter((one) => (moment(one.until) ?? 0) > now);
  const [first] = active;
  if (!first) return null;
  const what = first.session
    ? `session ${first.session.slice(0, 8)}`
    : first.client || labelOf(first.server ?? '');
  return (
    <Banner
      tone="warn"
      action={
        <Button small disabled={record.isPending} onClick={() => record.mutate(() => [])}>
          Stop
        </Button>
      }
    >
      {`Arguments and results of ${escapeControlCharacters(what.slice(0, 100))} are recorded in full until ${clock(first.until, now)}.`}{' '}
      {active.length > 1 && recordFullTexts.more(active.length - 1)}
    </Banner>
  );
}

/** Whether the recorder has a problem: any state except the known good ones. */
function recorderTrouble(recorder: RecorderStatus | undefined): boolean {
  return (
    recorder !== undefined && !['', 'ok', 'running', 'recording', 'idle'].includes(recorder.state)
  );
}

/** What needs a decision: a configuration that cannot be used, and calls that are not recorded. */
function StatusBanners() {
  const { data: status } = useQuery(statusQuery);
  const { data: servers = [] } = useQuery(serversQuery);
  const overview = useRouterState({ select: (state) => state.location.pathname === '/' });
  if (!status) return null;
  const errors = overview ? unlistedErrors(status, servers) : errorsOf(status);
  const first = errors[0];
  return (
    <>
      {first && (
        <Banner
          tone="bad"
          action={
            <Link to="/configuration" className="font-medium underline underline-offset-2">
              Show
            </Link>
          }
        >
          <strong className="font-semibold">
            {errors.length === 1
              ? 'One problem in the configuration'
              : `${errors.length} problems in the configuration`}
          </strong>
          <span className="max-sm:hidden">
            : {first.line > 0 && `${texts.settings.position(first.line, first.column)}: `}
            {escapeControlCharacters(first.message.replace(/\.$/, ''))}
          </span>
          {errors.some(({ server }) => server === '') &&
            '. The last valid version of the file stays in use.'}
        </Banner>
      )}
      {recorderTrouble(status.recorder) && (
        <Banner tone="bad">
          {`Calls are not being recorded (${escapeControlCharacters(status.recorder.state)}).`}
        </Banner>
      )}
    </>
  );
}

const errorsOf = ({ problems }: Status) => (problems ?? []).filter(({ warning }) => !warning);

/** The errors in the configuration without those of servers that the overview lists with them. */
const unlistedErrors = (status: Status, servers: ServerStatus[]) =>
  errorsOf(status).filter(
    (one) => !servers.some((server) => server.id === one.server && needsAttention(server)),
  );

/** The number of malfunctions besides servers: what has a banner, and calls that were not recorded. */
export function countTroubles(status: Status, servers: ServerStatus[]): number {
  const { notices, recorder } = status;
  return [
    notices?.some(({ subject }) => subject === pausedSubject),
    unlistedErrors(status, servers).length > 0,
    recorderTrouble(recorder),
    recorder.dropped > 0,
  ].filter(Boolean).length;
}
