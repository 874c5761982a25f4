import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleStop,
  Hourglass,
  KeyRound,
  LoaderCircle,
  type LucideIcon,
  RotateCw,
  ShieldQuestion,
  TriangleAlert,
} from 'lucide-react';
import { classes } from '@/lib/class-names';
import { useConnection } from '@/lib/connection';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { State } from '@/types/api';

type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'off';

const looks: Record<State, { tone: Tone; icon: LucideIcon; spin?: boolean }> = {
  stopped: { tone: 'off', icon: CircleStop },
  starting: { tone: 'busy', icon: LoaderCircle, spin: true },
  running: { tone: 'ok', icon: CircleCheck },
  degraded: { tone: 'warn', icon: TriangleAlert },
  waiting: { tone: 'warn', icon: Hourglass },
  backoff: { tone: 'warn', icon: RotateCw },
  crashed: { tone: 'bad', icon: CircleAlert },
  'needs-login': { tone: 'warn', icon: KeyRound },
  'needs-approval': { tone: 'warn', icon: ShieldQuestion },
  paused: { tone: 'off', icon: CirclePause },
  disabled: { tone: 'off', icon: Ban },
};

const unknown = { tone: 'off' as Tone, icon: CircleDashed, spin: false };

const tones: Record<Tone, string> = {
  ok: 'text-ok',
  busy: 'text-accent',
  warn: 'text-warn',
  bad: 'text-bad',
  off: 'text-ink3',
};

export function stateTone(state: State): Tone {
  return (ownValue(looks, state) ?? unknown).tone;
}

/** A label, a colour and an icon, each of which is sufficient; without colour while the daemon is gone. */
export function StateBadge({ state, className }: { state: State; className?: string }) {
  const lost = useConnection().phase === 'reconnecting';
  const look = lost ? unknown : (ownValue(looks, state) ?? unknown);
  const Icon = look.icon;
  return (
    <span
      title={lost ? texts.lastKnown : undefined}
      className={classes(
        // The baseline is that of the text, not of the icon.
        'inline-flex items-baseline gap-1.5 text-sm font-medium whitespace-nowrap',
        tones[look.tone],
        className,
      )}
    >
      <Icon
        className={classes('size-4 shrink-0 self-center', look.spin && 'animate-spin')}
        aria-hidden
      />
      {texts.states[state] ?? state}
      {lost && <span className="sr-only">(last known)</span>}
    </span>
  );
}
