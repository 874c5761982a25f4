import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { outcomeIcon } from '@/components/outcome-badge';
import { ServerPrefix } from '@/components/server-prefix';
import { classes } from '@/lib/class-names';
import { duration, escapeControlCharacters, exactTime, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { callName } from './call-row';
import { isFailure } from './filters';
import { timeAxis } from './time-axis';

const t = texts.sessions.waterfall;
/** The minimum distance of the labels on the axis, as a fraction of its width. */
const apart = 0.24;
const track = 'grid grid-cols-[minmax(7rem,2fr)_minmax(0,5fr)] gap-x-3 px-4 md:px-5';

interface Bar {
  call: Call;
  from: number;
  /** The end of its wait for the user, for the server's start or for a free slot. */
  ready: number;
  to: number;
}

/** The calls of a session on one time axis: queue times, execution and requests from servers. */
export function Waterfall({
  calls,
}: {
  /** Oldest first. */
  calls: Call[];
}) {
  const labelOf = useServerName();
  const running = calls.some((call) => call.outcome === '');
  const time = useNow();
  const now = running ? time : 0;
  const { bars, axis, start } = useMemo(() => {
    const bars = calls.map((call): Bar => {
      const from = moment(call.at) ?? 0;
      const to = call.outcome === '' ? Math.max(from, now) : from + call.tookNs / 1e6;
      return { call, from, ready: Math.min(to, from + call.queuedNs / 1e6), to };
    });
    bars.sort((a, b) => a.from - b.from);
    return { bars, axis: timeAxis(bars), start: bars[0]?.from ?? 0 };
  }, [calls, now]);
  const ticks: typeof axis.stretches = [];
  for (const one of axis.stretches) {
    const last = ticks.at(-1);
    if (!last || (one.left - last.left >= apart && one.left < 1 - apart)) ticks.push(one);
  }
  const end = axis.stretches.at(-1)?.to ?? start;
  return (
    <div className="py-2">
      <div className={classes(track, 'h-5 text-xs text-ink3')} aria-hidden>
        <span />
        <span className="relative">
          {ticks.map(({ from, left }) => (
            <span key={from} className="absolute whitespace-nowrap" style={{ left: percent(left) }}>
              {sinceStart(from - start)}
            </span>
          ))}
          <span className="absolute right-0">{sinceStart(end - start)}</span>
        </span>
      </div>
      <ol aria-label={t.title}>
        {bars.map(({ call, from, ready, to }) => {
          const left = axis.at(from);
          const middle = axis.at(ready);
          const right = axis.at(to);
          const waited = (ready - from) * 1e6;
          const name = callName(call);
          const server = labelOf(call.server);
          const words = [
            `${sinceStart(from - start)}, ${duration((to - from) * 1e6)}`,
            texts.outcomes[call.outcome] ?? call.outcome,
            call.fromServer && texts.calls.fromServer,
            call.approval
              ? `${texts.sessions.approvals[call.approval] ?? call.approval} after ${duration(waited)}`
              : waited >= 1e6 && `Queued for ${duration(waited)}`,
          ].filter(Boolean);
          return (
            <li
              key={call.id}
              title={`${exactTime(call.at)}\n${words.join('\n')}`}
              className={classes(track, 'relative items-center py-1 text-sm hover:bg-hover')}
            >
              <Link
                to="/calls/$id"
                params={{ id: call.id }}
                search={{ session: call.session }}
                className="min-w-0 truncate outline-offset-[-2px] after:absolute after:inset-0"
              >
                {server && (
                  <span className="max-md:hidden">
                    <ServerPrefix label={server} />
                  </span>
                )}
                <span
                  className={classes(
                    'font-medium',
                    isFailure(call) && outcomeIcon(call.outcome).color,
                  )}
                >
                  {escapeControlCharacters(name.slice(0, 300))}
                </span>
                <span className="sr-only"> {words.join(', ')}</span>
              </Link>
              <span className="relative h-4" aria-hidden>
                {axis.stretches.slice(1).map((one) => (
                  <span
                    key={one.from}
                    className="absolute inset-y-[-0.25rem] border-l border-dashed border-line"
                    style={{ left: percent(one.left) }}
                  />
                ))}
                {middle > left && (
                  <span
                    className={classes(
                      'absolute inset-y-1 rounded-l-sm',
                      call.approval ? 'bg-warn' : 'bg-strong',
                    )}
                    style={{ left: percent(left), width: percent(middle - left) }}
                  />
                )}
                <span
                  className={classes(
                    'absolute inset-y-0.5 min-w-0.75 rounded-sm',
                    call.fromServer ? 'border border-accent bg-accent-soft' : fill(call),
                  )}
                  style={{ left: percent(Math.min(middle, 0.995)), width: percent(right - middle) }}
                />
              </span>
            </li>
          );
        })}
      </ol>
      <ul
        aria-label="Legend"
        className="flex flex-wrap gap-x-4 gap-y-1 px-4 pt-3 text-xs text-ink3 md:px-5"
      >
        {legend.map(([look, text]) => (
          <li key={text} className="flex items-center gap-1.5">
            <span className={classes('h-2.5 w-4 rounded-sm', look)} aria-hidden />
            {text}
          </li>
        ))}
      </ul>
    </div>
  );
}

const legend = [
  ['bg-accent', 'Run time'],
  ['bg-bad', 'Failed'],
  ['bg-warn', t.asked],
  ['bg-strong', 'Queued'],
  ['border border-accent bg-accent-soft', texts.calls.fromServer],
] as const;

const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

const fill = (call: Call) =>
  call.outcome === 'ok' || call.outcome === ''
    ? classes('bg-accent', call.outcome === '' && 'pulse-dot')
    : call.outcome === 'cancelled'
      ? 'bg-strong'
      : 'bg-bad';

/** Time since the session's first call. */
export function sinceStart(ms: number): string {
  return `+${duration(ms * 1e6).replace(/\.\d+(?= s)/, '')}`.replace('+0 ns', '0 s');
}
