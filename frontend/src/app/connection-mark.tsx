import { LoaderCircle } from 'lucide-react';
import { classes } from '@/lib/class-names';
import { useConnection } from '@/lib/connection';

const phases = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  locked: 'Locked',
};

/** The state of the connection to the daemon, and thus whether the page shows live data. */
export function ConnectionMark() {
  const { phase } = useConnection();
  const live = phase === 'live';
  return (
    <span
      role="status"
      className={classes(
        'inline-flex items-center gap-2 text-xs',
        live ? 'text-ink3' : phase === 'connecting' ? 'text-ink3' : 'font-medium text-warn',
      )}
    >
      {live ? (
        <span className="size-2 rounded-full bg-ok" aria-hidden />
      ) : (
        <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
      )}
      {phases[phase]}
    </span>
  );
}
