import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { OutcomeBadge } from '@/components/outcome-badge';
import { classes } from '@/lib/classes';
import { bytes, clock, exactTime, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { CallDuration } from './call-duration';
import type { CallFilters } from './filters';

/** What a call is about, in the words of its method. */
export function callName(call: Call): string {
  return call.tool || call.publicName || call.method || texts.calls.unknownTool;
}

export const wideColumns = 'grid-cols-[7.5rem_minmax(0,1fr)_minmax(0,9rem)_8.5rem_5.5rem_4.5rem]';

/** One call in the list: a table row on wide lists, two lines on narrow ones. */
export const CallRow = memo(function CallRow({
  call,
  wide,
  selected,
  filters,
  now,
}: {
  call: Call;
  wide: boolean;
  selected: boolean;
  filters: CallFilters;
  now: number;
}) {
  const name = (
    <Link
      to="/calls/$id"
      params={{ id: call.id }}
      search={filters}
      data-call={call.id}
      aria-current={selected || undefined}
      className="outline-offset-[-2px] after:absolute after:inset-0"
    >
      {call.server && <span className="text-ink3">{plain(call.server)} / </span>}
      <span className="font-medium">{plain(callName(call).slice(0, 300))}</span>
    </Link>
  );
  const time = (
    <time dateTime={call.at} title={exactTime(call.at)}>
      {clock(call.at, now)}
    </time>
  );
  const client = plain(call.client || call.token || texts.calls.unknownClient);
  const row = classes(
    'relative h-full border-b px-4 md:px-6',
    selected ? 'bg-accent-soft' : 'hover:bg-hover',
  );
  if (wide) {
    return (
      <div className={classes(row, 'grid items-center gap-3 text-sm', wideColumns)}>
        <span className="text-ink3">{time}</span>
        <span className="truncate">{name}</span>
        <span className="truncate text-ink2">{client}</span>
        <OutcomeBadge outcome={call.outcome} />
        <span className="text-right whitespace-nowrap">
          <CallDuration call={call} />
        </span>
        <span className="text-right whitespace-nowrap text-ink3">
          {call.outcome === '' ? '' : bytes(call.bytesOut)}
        </span>
      </div>
    );
  }
  return (
    <div className={classes(row, 'flex flex-col justify-center gap-0.5 text-sm')}>
      <div className="flex items-center gap-3">
        <span className="min-w-0 flex-1 truncate">{name}</span>
        <OutcomeBadge outcome={call.outcome} className="text-xs" />
      </div>
      <div className="flex items-center gap-2 text-xs text-ink3">
        {time}
        <span className="min-w-0 flex-1 truncate">{client}</span>
        <span className="whitespace-nowrap">
          <CallDuration call={call} />
        </span>
      </div>
    </div>
  );
});
