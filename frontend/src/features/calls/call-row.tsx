import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { OutcomeBadge } from '@/components/outcome-badge';
import { classes } from '@/lib/classes';
import { bytes, clock, cut, exactTime, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { CallDuration } from './call-duration';
import type { CallFilters } from './filters';

/** What a call is about, in the words of its method. */
export function callName(call: Call): string {
  return call.tool || call.publicName || call.method || texts.calls.unknownTool;
}

export const wideColumns = 'grid-cols-[6rem_minmax(0,1fr)_minmax(0,7.5rem)_7.5rem_5rem_4rem]';

/**
 * One call in the list: a table row on wide lists, two lines on narrow ones. The
 * elements are the same in both, so that the focus survives the change.
 */
export const CallRow = memo(function CallRow({
  call,
  wide,
  selected,
  filters,
  server,
  now,
}: {
  call: Call;
  wide: boolean;
  selected: boolean;
  filters: CallFilters;
  /** What the server is called. */
  server: string;
  now: number;
}) {
  return (
    <div
      className={classes(
        'relative grid h-full items-center border-b px-4 text-sm md:px-6',
        wide
          ? `gap-3 ${wideColumns}`
          : 'grid-cols-[auto_minmax(0,1fr)_auto] content-center gap-x-2 gap-y-0.5',
        selected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <time
        dateTime={call.at}
        title={exactTime(call.at)}
        className={classes('text-ink3', !wide && 'order-3 text-xs')}
      >
        {clock(call.at, now)}
      </time>
      <span className={classes('truncate', !wide && 'order-1 col-span-2')}>
        <Link
          to="/calls/$id"
          params={{ id: call.id }}
          search={filters}
          data-call={call.id}
          aria-current={selected || undefined}
          className="outline-offset-[-2px] after:absolute after:inset-0"
        >
          {server && <span className="text-ink3">{plain(cut(server, 40))} / </span>}
          <span className="font-medium">{plain(callName(call).slice(0, 300))}</span>
        </Link>
      </span>
      <span className={classes('truncate', wide ? 'text-ink2' : 'order-4 text-xs text-ink3')}>
        {plain(call.client || call.token || texts.calls.unknownClient)}
      </span>
      <OutcomeBadge
        outcome={call.outcome}
        className={wide ? undefined : 'order-2 justify-self-end text-xs'}
      />
      <span
        className={classes('text-right whitespace-nowrap', !wide && 'order-5 text-xs text-ink3')}
      >
        <CallDuration call={call} />
      </span>
      {wide && (
        <span className="text-right whitespace-nowrap text-ink3">
          {call.outcome === '' ? '' : bytes(call.bytesOut)}
        </span>
      )}
    </div>
  );
});
