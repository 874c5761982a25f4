import {
  CircleAlert,
  CircleCheck,
  CircleSlash,
  Clock,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  PowerOff,
  ShieldX,
  Unplug,
} from 'lucide-react';
import { classes } from '@/lib/class-names';
import { cut, escapeControlCharacters } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Call, Outcome } from '@/types/api';

const looks: Record<Outcome, { color: string; icon: LucideIcon }> = {
  '': { color: 'text-accent', icon: LoaderCircle },
  ok: { color: 'text-ok', icon: CircleCheck },
  tool_error: { color: 'text-bad', icon: CircleAlert },
  protocol_error: { color: 'text-bad', icon: Unplug },
  timeout: { color: 'text-warn', icon: Clock },
  cancelled: { color: 'text-ink3', icon: CircleSlash },
  rejected: { color: 'text-warn', icon: ShieldX },
};

/** The colour of an outcome where there is no space for its label. */
export function outcomeIcon(outcome: Outcome): { color: string; icon: LucideIcon } {
  return ownValue(looks, outcome) ?? { color: 'text-ink3', icon: CircleSlash };
}

/** Whether a call did not reach its server because the server was not running or not connected. */
export function isUnavailable({ outcome, code }: Pick<Call, 'outcome' | 'code'>): boolean {
  return outcome === 'protocol_error' && (code === 'unavailable' || code === 'unauthorized');
}

/** In the error of a call that was sent, before the connection was lost. */
const unknownEffect = 'it is unknown whether the call was executed';

/** Whether a call that has ended was sent to its server. */
export const reachedServer = (
  call: Pick<Call, 'outcome' | 'code'> & { error?: string | undefined },
): boolean =>
  call.outcome !== 'rejected' &&
  (!isUnavailable(call) || (call.error?.includes(unknownEffect) ?? false));

export function OutcomeBadge({
  outcome,
  code,
  taskStatus,
  waiting = false,
  className,
}: {
  outcome: Outcome;
  code?: string;
  /** Whether the call waits for the user. */
  waiting?: boolean;
  /** Of the task of a call that has not ended yet, as the server wrote it. */
  taskStatus?: string;
  className?: string;
}) {
  const unavailable = isUnavailable({ outcome, code: code ?? '' });
  if (taskStatus !== undefined && outcome === 'ok')
    return (
      <span
        className={classes(
          'inline-flex items-center gap-1.5 text-sm whitespace-nowrap',
          taskStatus === 'expired' ? 'text-ink3' : 'text-accent',
          className,
        )}
      >
        <Hourglass className="size-4 shrink-0" aria-hidden />
        {ownValue<string>(texts.taskStates, taskStatus) ??
          escapeControlCharacters(cut(taskStatus, 40))}
      </span>
    );
  const look = unavailable
    ? { color: 'text-bad', icon: PowerOff }
    : waiting
      ? { color: 'text-warn', icon: Hourglass }
      : outcomeIcon(outcome);
  const Icon = look.icon;
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1.5 text-sm whitespace-nowrap',
        look.color,
        className,
      )}
    >
      <Icon
        className={classes('size-4 shrink-0', outcome === '' && !waiting && 'animate-spin')}
        aria-hidden
      />
      {waiting
        ? 'Waiting for you'
        : (texts.outcomes[unavailable ? 'unavailable' : outcome] ?? outcome)}
    </span>
  );
}
