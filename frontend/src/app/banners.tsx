import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { Banner } from '@/components/banner';
import { Button } from '@/components/button';
import { approvalsQuery } from '@/features/approvals/api';
import { useServerLabel } from '@/features/servers/api';
import { isNoticeOfAddedServer } from '@/lib/added-server-notices';
import { useConnection } from '@/lib/connection';
import { clock, count, escapeControlCharacters, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useRecordFull } from '@/lib/record-full';
import { request, requestText } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { useStored } from '@/lib/stored-preference';
import { texts } from '@/lib/texts';
import { toastError } from '@/lib/toast';
import type { RecorderStatus, Status } from '@/types/api';

const recordFullTexts = {
  more: (n: number) =>
    n === 1 ? 'One other recording is active.' : `${n} other recordings are active.`,
} as const;

const otherShort = (n: number) => (n === 1 ? '1 notice' : `${count(n)} notices`);

const problemsDroppedText = (n: number) =>
  n === 1
    ? 'One call was not recorded because the disk was too slow.'
    : `${count(n)} calls were not recorded because the disk was too slow.`;

const words = {
  show: 'Show',
};

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
  const here = useRouterState({ select: (state) => state.location.pathname === '/approvals' });
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
        {texts.approvals.waiting(approvals.length)}
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
            {texts.actions.retryNow}
          </Button>
        }
      >
        <strong className="font-semibold">{texts.connection.lostTitle}.</strong>{' '}
        {/* Hidden from screen readers: they would announce the countdown every second. */}
        <span aria-hidden className="max-sm:hidden">
          {texts.connection.lost(seconds)}
        </span>
      </Banner>
    </div>
  );
}

/** The subject of the notice that all servers are paused. */
const pausedSubject = 'paused';

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

/** Subjects of notices that stay until they are dismissed; others disappear with their cause. */
const dismissible = /^(command:|egress:|network$)/;

const takeBack = (subject: string) =>
  requestText('DELETE', `/api/v1/notices/${encodeURIComponent(subject)}`);

function Seen({ subject }: { subject: string }) {
  const client = useQueryClient();
  const dismiss = useMutation({
    mutationFn: () => takeBack(subject),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
  return (
    <button
      type="button"
      disabled={dismiss.isPending}
      onClick={() => dismiss.mutate()}
      className="shrink-0 font-medium underline underline-offset-2"
    >
      {texts.actions.dismiss}
    </button>
  );
}

/** Advice, not a problem: this browser remembers that it was read. Settings still shows it. */
const advice = /^This system has no keyring/;

const textsOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

function Read({ message }: { message: string }) {
  const [read, setRead] = useStored('drawbridge.read-advice', textsOf);
  return (
    <button
      type="button"
      onClick={() => setRead([...read, message].slice(-20))}
      className="shrink-0 font-medium underline underline-offset-2"
    >
      {texts.actions.dismiss}
    </button>
  );
}

interface Concern {
  key: string;
  tone: 'warn' | 'bad';
  text: ReactNode;
  action?: ReactNode;
}

/** The most important banner first; the others are collapsed, to leave space for the page. */
function StatusBanners() {
  const { data: status } = useQuery(statusQuery);
  const [all, setAll] = useState(false);
  const [read] = useStored('drawbridge.read-advice', textsOf);
  const notices = status?.notices;
  useEffect(() => {
    for (const { subject, message } of notices ?? [])
      if (isNoticeOfAddedServer(subject, message)) takeBack(subject).catch(() => {}); // else shown later
  }, [notices]);
  if (!status) return null;
  const [first, ...others] = concerns(status, read);
  if (!first) return null;
  const more = others.length > 0 && (
    <button
      type="button"
      aria-expanded={all}
      onClick={() => setAll((on) => !on)}
      className="shrink-0 font-medium underline underline-offset-2"
    >
      {all ? (
        texts.problems.less
      ) : (
        <>
          <span className="max-sm:hidden">
            {others.length === 1 ? '1 other notice' : `${others.length} other notices`}
          </span>
          <span className="sm:hidden">{otherShort(others.length)}</span>
        </>
      )}
    </button>
  );
  return (
    <>
      <Banner
        tone={first.tone}
        action={
          <span className="flex shrink-0 gap-4">
            {first.action}
            {more}
          </span>
        }
      >
        {/* On phones the first banner is truncated to one line until all are expanded. */}
        <span className={others.length > 0 && !all ? 'max-sm:line-clamp-1' : undefined}>
          {first.text}
        </span>
      </Banner>
      {all &&
        others.map(({ key, tone, text, action }) => (
          <Banner key={key} tone={tone} action={action}>
            {text}
          </Banner>
        ))}
    </>
  );
}

/** The number of banners that report a malfunction, not only information. */
export function countTroubles(status: Status): number {
  const paused = status.notices?.some(({ subject }) => subject === pausedSubject) ? 1 : 0;
  return (
    paused + concerns(status).filter((one) => one.tone === 'bad' || one.key === 'dropped').length
  );
}

function concerns(status: Status, read: string[] = []): Concern[] {
  const list: Concern[] = [];
  const errors = (status.problems ?? []).filter((problem) => !problem.warning);
  const first = errors[0];
  if (first) {
    list.push({
      key: 'config',
      tone: 'bad',
      text: (
        <>
          <strong className="font-semibold max-sm:hidden">
            {errors.length === 1
              ? 'One problem in the configuration'
              : `${errors.length} problems in the configuration`}
          </strong>
          <strong className="font-semibold sm:hidden">
            {errors.length === 1
              ? 'Configuration: 1 problem'
              : `Configuration: ${errors.length} problems`}
          </strong>
          <span className="max-sm:hidden">
            : {first.line > 0 && `${texts.settings.position(first.line, first.column)}: `}
            {escapeControlCharacters(first.message)}
          </span>
        </>
      ),
      action: (
        <Link to="/configuration" className="font-medium underline underline-offset-2">
          {words.show}
        </Link>
      ),
    });
  }
  if (recorderTrouble(status.recorder)) {
    list.push({
      key: 'recorder',
      tone: 'bad',
      text: `Calls are not being recorded (${escapeControlCharacters(status.recorder.state)}).`,
    });
  }
  if (!status.requireToken)
    list.push({
      key: 'tokens',
      tone: 'warn',
      text: 'Tokens are disabled: any program on this computer can call your tools.',
      action: (
        <Link to="/settings" className="font-medium underline underline-offset-2">
          {words.show}
        </Link>
      ),
    });
  if (status.recorder?.dropped > 0) {
    list.push({
      key: 'dropped',
      tone: 'warn',
      text: problemsDroppedText(status.recorder.dropped),
    });
  }
  for (const notice of status.notices ?? []) {
    if (notice.subject === pausedSubject) continue; // it has its own banner
    if (isNoticeOfAddedServer(notice.subject, notice.message)) continue;
    const isAdvice = advice.test(notice.message);
    if (isAdvice && read.includes(notice.message)) continue;
    list.push({
      key: `${notice.subject}:${notice.message}`,
      tone: 'warn',
      text: escapeControlCharacters(notice.message),
      action: dismissible.test(notice.subject) ? (
        <Seen subject={notice.subject} />
      ) : (
        isAdvice && <Read message={notice.message} />
      ),
    });
  }
  return list;
}
