import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Banner } from '@/components/banner';
import { Button } from '@/components/button';
import { useConnection } from '@/lib/connection';
import { count, plain } from '@/lib/format';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status';
import { texts } from '@/lib/texts';
import type { RecorderStatus } from '@/types/api';

/** What concerns every page: the line is down, the configuration has mistakes, records are lost. */
export function Banners() {
  const { phase } = useConnection();
  return (
    <>
      {phase === 'reconnecting' && <Lost />}
      <StatusBanners />
    </>
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
        {/* The countdown is for the eye: read aloud every second it would be noise. */}
        <span aria-hidden>{texts.connection.lost(seconds)}</span>
      </Banner>
    </div>
  );
}

/** Recorder states that mean all is well, whatever the exact word. */
export function recorderTrouble(recorder: RecorderStatus | undefined): boolean {
  return (
    recorder !== undefined && !['', 'ok', 'running', 'recording', 'idle'].includes(recorder.state)
  );
}

function StatusBanners() {
  const { data: status } = useQuery(statusQuery);
  if (!status) return null;
  const errors = (status.problems ?? []).filter((problem) => !problem.warning);
  const first = errors[0];
  return (
    <>
      {first && (
        <Banner
          tone="bad"
          action={
            <Link to="/settings" className="shrink-0 font-medium underline underline-offset-2">
              {texts.problems.show}
            </Link>
          }
        >
          <strong className="font-semibold">{texts.problems.title(errors.length)}</strong>
          <span className="max-sm:hidden">
            : {first.line > 0 && `${texts.settings.position(first.line, first.column)}: `}
            {plain(first.message)}
          </span>
        </Banner>
      )}
      {recorderTrouble(status.recorder) && (
        <Banner tone="bad">{texts.problems.recorder(plain(status.recorder.state))}</Banner>
      )}
      {status.recorder?.dropped > 0 && (
        <Banner tone="warn">
          {texts.problems
            .dropped(status.recorder.dropped)
            .replace(String(status.recorder.dropped), count(status.recorder.dropped))}
        </Banner>
      )}
      {!status.requireToken && <Banner tone="warn">{texts.problems.tokensOff}</Banner>}
      {(status.notices ?? []).map((notice) => (
        <Banner key={`${notice.subject}:${notice.message}`} tone="warn">
          {plain(notice.message)}
        </Banner>
      ))}
    </>
  );
}
