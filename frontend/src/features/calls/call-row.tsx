import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { OutcomeBadge, outcomeIcon } from '@/components/outcome-badge';
import { classes } from '@/lib/classes';
import { bytes, clock, cut, exactTime, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { CallDuration } from './call-duration';
import type { CallFilters } from './filters';
import { Marked, searchPattern } from './marked';
import { usePreview } from './previews';

/** What a call is about, in the words of its method. */
export function callName(call: Call): string {
  return call.tool || call.publicName || call.method || texts.calls.unknownTool;
}

export const wideColumns = 'grid-cols-[6rem_minmax(0,1fr)_minmax(0,7.5rem)_7.5rem_5rem_4rem]';

/** The height of a row, in pixels at the usual size of letters. It is the same on wide and narrow lists. */
export const rowHeight = 48;

/**
 * One call in the list: two lines, with columns on wide lists. The elements are the same on both,
 * so that the focus survives the change.
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
  const pattern = searchPattern(filters.q);
  return (
    <div
      className={classes(
        'relative grid h-full content-center items-center border-b px-4 text-sm md:px-6',
        wide
          ? `gap-x-3 ${wideColumns}`
          : 'grid-cols-[auto_minmax(0,1fr)_auto] content-center gap-x-2',
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
          <span className="font-medium">
            <Marked text={plain(callName(call).slice(0, 300))} pattern={pattern} />
          </span>
        </Link>
      </span>
      {wide && <span className="truncate text-ink2">{clientName(call)}</span>}
      <OutcomeBadge
        outcome={call.outcome}
        code={call.code}
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
      <Excerpts
        call={call}
        q={filters.q}
        pattern={pattern}
        client={wide ? '' : clientName(call)}
        className={wide ? 'col-span-5 col-start-2' : 'order-4'}
      />
    </div>
  );
});

const clientName = (call: Call) => plain(call.client || call.token || texts.calls.unknownClient);

/** The second line: the arguments, why the call failed, and what the search found in its payloads. */
function Excerpts({
  call,
  q,
  pattern,
  client,
  className,
}: {
  call: Call;
  q: string | undefined;
  pattern: RegExp | undefined;
  client: string;
  className: string;
}) {
  const preview = usePreview(call, q);
  const line = (text: string) => plain(text.trim().replace(/\s+/g, ' ')).slice(0, 300);
  const reason = line(call.reason.split('\n', 1)[0] ?? '');
  const match = preview?.match && line(preview.match);
  return (
    <span className={classes('flex h-4 min-w-0 gap-2 text-xs leading-4 text-ink3', className)}>
      {client && <span className="max-w-[35%] shrink-0 truncate">{client}</span>}
      {reason && (
        <span className={classes('max-w-[65%] shrink-0 truncate', outcomeIcon(call.outcome).color)}>
          <Marked text={reason} pattern={pattern} />
        </span>
      )}
      {match && (
        <span className="max-w-[65%] shrink-0 truncate">
          {preview.matchIn === 'reply' ? texts.calls.inReply : texts.calls.inArguments}{' '}
          <Marked text={match} pattern={pattern} />
        </span>
      )}
      {preview?.arguments && (
        <span className="min-w-0 truncate">
          <Marked text={line(preview.arguments)} pattern={pattern} />
        </span>
      )}
    </span>
  );
}
