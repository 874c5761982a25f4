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
import type { Outcome } from '@/types/api';

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
function notReached(outcome: Outcome, code: string | undefined): boolean {
  return outcome === 'protocol_error' && (code === 'unavailable' || code === 'unauthorized');
}

export function OutcomeBadge({
  outcome,
  code,
  taskStatus,
  className,
}: {
  outcome: Outcome;
  code?: string;
  /** Of the task of a call that has not ended yet, as the server wrote it. */
  taskStatus?: string;
  className?: string;
}) {
  const unavailable = notReached(outcome, code);
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
  const look = unavailable ? { color: 'text-bad', icon: PowerOff } : outcomeIcon(outcome);
  const Icon = look.icon;
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1.5 text-sm whitespace-nowrap',
        look.color,
        className,
      )}
    >
      <Icon className={classes('size-4 shrink-0', outcome === '' && 'animate-spin')} aria-hidden />
      {unavailable ? 'Unavailable' : (texts.outcomes[outcome] ?? outcome)}
    </span>
  );
}
