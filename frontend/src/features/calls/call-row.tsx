import { Link } from '@tanstack/react-router';
import { type ComponentProps, memo, type ReactNode } from 'react';
import { GuestBadge } from '@/components/guest-badge';
import { OutcomeBadge, outcomeIcon } from '@/components/outcome-badge';
import { ServerPrefix } from '@/components/server-prefix';
import { useApprovalOf } from '@/lib/approvals-query';
import { classes } from '@/lib/class-names';
import { bytes, clock, escapeControlCharacters, exactTime } from '@/lib/format';
import { useIsGuest } from '@/lib/guests-query';
import { jsonMembers, jsonString } from '@/lib/json-text';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import type { ColumnId, Sort } from './call-columns';
import { CallDuration } from './call-duration';
import { usePreview } from './call-previews';
import type { CallFilters } from './filters';
import { SearchHighlight, searchPattern } from './search-highlight';
import { openTaskStatus } from './task-steps';

/** The name of a call: its tool, otherwise its public name or its method. */
export function callName(call: Call): string {
  const name = call.tool || call.publicName || call.method || 'unknown';
  return call.method === 'tools/preview' ? `${name} (preview)` : name;
}

/** The height of a row in pixels at the default font size. */
export const rowHeight = 48;

/**
 * One call in the list: two lines, with columns on wide lists. The elements are the same in both
 * layouts, so that the focus is kept when the layout changes.
 */
export const CallRow = memo(function CallRow({
  call,
  columns,
  selected,
  comparedWith,
  filters,
  sort,
  server,
  now,
}: {
  call: Call;
  /** The columns of a wide list; undefined on a narrow one. */
  columns: ColumnId[] | undefined;
  selected: boolean;
  /** The call that this one is picked to be compared with. */
  comparedWith: string | undefined;
  filters: CallFilters;
  sort: Sort | undefined;
  /** The display name of the server. */
  server: string;
  now: number;
}) {
  const approval = useApprovalOf(call);
  const pattern = searchPattern(filters.q);
  const wide = columns !== undefined;
  const excerpts = (className: string) => (
    <Excerpts
      call={call}
      q={filters.q}
      pattern={pattern}
      client={wide ? '' : clientName(call)}
      role={wide ? 'cell' : undefined}
      className={className}
    />
  );
  const cells: Record<ColumnId, ReactNode> = {
    time: (
      <Cell key="time" wide={wide} className={wide ? 'text-ink3' : 'order-3 text-xs text-ink3'}>
        <time dateTime={call.at} title={exactTime(call.at)}>
          {clock(call.at, now)}
        </time>
      </Cell>
    ),
    call: (
      <Cell key="call" wide={wide} className={classes('truncate', !wide && 'order-1 col-span-2')}>
        <Link
          to="/calls/$id"
          params={{ id: comparedWith ?? call.id }}
          search={{ ...filters, sort, ...(comparedWith && !selected && { with: call.id }) }}
          data-call={call.id}
          aria-current={selected || undefined}
          className="outline-offset-[-2px] after:absolute after:inset-0"
        >
          {server && <ServerPrefix label={server} />}
          <span className="font-medium">
            <SearchHighlight
              text={escapeControlCharacters(callName(call).slice(0, 300))}
              pattern={pattern}
            />
          </span>
        </Link>
      </Cell>
    ),
    client: <ClientCell key="client" call={call} />,
    session: (
      <TextCell key="session" text={escapeControlCharacters(call.session.slice(0, 40))} code />
    ),
    folder: (
      <TextCell key="folder" text={escapeControlCharacters(call.workspace.slice(0, 300))} code />
    ),
    outcome: (
      <Cell key="outcome" wide={wide} className={wide ? 'flex' : 'order-2 flex justify-self-end'}>
        <OutcomeBadge
          waiting={approval !== undefined}
          outcome={call.outcome}
          code={call.code}
          taskStatus={openTaskStatus(call)}
          className={wide ? undefined : 'text-xs'}
        />
      </Cell>
    ),
    duration: (
      <Cell
        key="duration"
        wide={wide}
        className={classes('text-right whitespace-nowrap', !wide && 'order-5 text-xs text-ink3')}
      >
        <CallDuration call={call} />
      </Cell>
    ),
    sent: <TextCell key="sent" text={bytes(call.bytesIn)} number />,
    size: <TextCell key="size" text={call.outcome === '' ? '' : bytes(call.bytesOut)} number />,
  };
  const at = columns?.indexOf('call') ?? 0;
  return (
    <div
      className={classes(
        'relative grid h-full content-center items-center border-b px-4 text-sm md:px-6',
        wide
          ? 'gap-x-3 [grid-template-columns:var(--call-columns)]'
          : 'grid-cols-[auto_minmax(0,1fr)_auto] content-center gap-x-2',
        selected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      {(columns ?? narrowCells).map((id) => cells[id])}
      {excerpts(
        wide ? (at === 0 ? 'col-start-1 -col-end-1' : 'col-start-2 -col-end-1') : 'order-4',
      )}
    </div>
  );
});

const narrowCells: ColumnId[] = ['time', 'call', 'outcome', 'duration'];
function Cell({ wide, children, ...rest }: ComponentProps<'span'> & { wide: boolean }) {
  return (
    <span role={wide ? 'cell' : undefined} {...rest}>
      {children}
    </span>
  );
}

function TextCell({ text, code, number }: { text: string; code?: boolean; number?: boolean }) {
  return (
    <Cell
      wide
      title={code ? text : undefined}
      className={classes(
        'truncate',
        number ? 'text-right text-ink3' : 'text-ink2',
        code && 'font-mono text-xs',
      )}
    >
      {text}
    </Cell>
  );
}

/** The client of a call: a guest by its own name, because guests often run the same program. */
function ClientCell({ call }: { call: Call }) {
  const isGuest = useIsGuest();
  if (!isGuest(call.token)) return <TextCell text={clientName(call)} />;
  return (
    <Cell wide className="truncate text-ink2">
      <span title={clientName(call)}>{call.token}</span> <GuestBadge token={call.token} />
    </Cell>
  );
}

const clientName = (call: Call) =>
  escapeControlCharacters(call.client || call.token || texts.calls.unknownClient);

/** Why a call failed, without its tool, which is beside it, and with a rule as the user counts them. */
export const reasonOf = ({ reason, server, tool }: Pick<Call, 'reason' | 'server' | 'tool'>) =>
  reason
    .replace(` to tool "${tool}" of server "${server}"`, '')
    .replace(/^(a rule denied the call: )rule \d+: /, '$1')
    // Calls of earlier versions name its key.
    .replace(/policy\.rules\[(\d+)\](: )?/, (_, index, because) =>
      because ? '' : `rule ${Number(index) + 1}`,
    );

/** The line that tells most of the error of a failed call: the first one, or the last one of a trace; or "". */
export function reasonLine(call: Pick<Call, 'reason' | 'server' | 'tool'>): string {
  const lines = reasonOf(call)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const isTrace = /^\s*Traceback \(most recent call last\)/.test(lines[0] ?? '');
  return oneLine((isTrace ? lines.at(-1) : lines[0]) ?? '');
}

/** The arguments of a call that has not ended, like those that the daemon returns for the others. */
const argumentLine = (json: string) =>
  [...(jsonMembers(json.slice(0, 4000)) ?? [])]
    .map(([name, raw]) => `${name}: ${jsonString(raw) ?? raw}`)
    .join(', ') || json;

const oneLine = (text: string) =>
  escapeControlCharacters(text.trim().replace(/\s+/g, ' ')).slice(0, 300);

/** The second line: the arguments, the error, and the search match in the payloads. */
export function Excerpts({
  call,
  q,
  pattern,
  client = '',
  role,
  className,
}: {
  call: Call;
  q?: string | undefined;
  pattern?: RegExp | undefined;
  client?: string;
  role?: 'cell' | undefined;
  className: string;
}) {
  const preview = usePreview(call, q);
  const pending = useApprovalOf(call)?.arguments;
  const shownArguments = pending ? argumentLine(pending) : preview?.arguments;
  const reason = reasonLine(call);
  const match = preview?.match && oneLine(preview.match);
  return (
    <span
      role={role}
      className={classes(
        '@container flex h-4 min-w-0 gap-2 overflow-hidden text-xs leading-4 text-ink3',
        className,
      )}
    >
      {client && (
        <span
          className={classes(
            'shrink-0 truncate',
            reason || match || shownArguments ? 'max-w-[40%]' : 'max-w-full',
          )}
        >
          {client}
        </span>
      )}
      {reason && (
        <span
          className={classes(
            'truncate',
            match ? 'max-w-[40%] shrink-0' : 'min-w-0',
            outcomeIcon(call.outcome).color,
          )}
        >
          <SearchHighlight text={reason} pattern={pattern} />
        </span>
      )}
      {match && (
        <span className={classes('truncate', reason ? 'min-w-0' : 'max-w-[65%] shrink-0')}>
          {preview.matchIn === 'reply' ? 'In the result:' : 'In the arguments:'}{' '}
          <SearchHighlight text={match} pattern={pattern} />
        </span>
      )}
      {shownArguments && (
        // A failed call shows its arguments only if there is room beside the error.
        <span className={classes('min-w-0 truncate', reason && 'flex-1 basis-16 @max-2xl:hidden')}>
          <SearchHighlight text={oneLine(shownArguments)} pattern={pattern} />
        </span>
      )}
    </span>
  );
}
