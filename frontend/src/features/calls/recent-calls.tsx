import { Link } from '@tanstack/react-router';
import { OutcomeBadge, outcomeIcon } from '@/components/outcome-badge';
import { ServerPrefix } from '@/components/server-prefix';
import { useApprovalOf } from '@/lib/approvals-query';
import { classes } from '@/lib/class-names';
import { clock, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import type { Call, Outcome } from '@/types/api';
import { useLiveCalls } from './api';
import { CallDuration } from './call-duration';
import { callName, Excerpts, reasonLine } from './call-row';
import { isFailure } from './filters';
import { openTaskStatus } from './task-steps';
import { useCalls } from './use-calls';

const stripLength = 80;

export interface RecentNumbers {
  running: number;
  failed: number;
  ended: number;
}

/** Counts of the newest calls. */
export function useRecentNumbers(): RecentNumbers {
  const calls = useLiveCalls();
  const newest = calls.slice(0, 100);
  return {
    running: calls.filter((call) => call.outcome === '').length,
    failed: newest.filter(isFailure).length,
    ended: newest.filter((call) => call.outcome !== '').length,
  };
}

const fills: Record<Outcome, string> = {
  '': 'fill-accent pulse-dot',
  ok: 'fill-ok opacity-45',
  tool_error: 'fill-bad',
  protocol_error: 'fill-bad',
  timeout: 'fill-warn',
  cancelled: 'fill-strong',
  rejected: 'fill-warn',
};

/**
 * The newest calls as a bar chart that shows load, slow calls and failures. It is not drawn by uPlot:
 * its bars are calls, not slots of time, each has the colour of its outcome, there are no axes, and
 * it is shown at once, without the chunk of the charts.
 */
export function CallStrip() {
  const calls = useLiveCalls();
  const shown = calls.slice(0, stripLength).reverse();
  const offset = stripLength - shown.length;
  return (
    <svg
      viewBox={`0 0 ${stripLength * 5} 44`}
      preserveAspectRatio="none"
      className="h-14 w-full"
      role="img"
      aria-label={`The last ${shown.length} calls, oldest first; bar height shows duration`}
    >
      <rect x="0" y="43" width={stripLength * 5} height="1" className="fill-line" />
      {shown.map((call, index) => {
        const height = barHeight(call);
        return (
          <rect
            key={call.id}
            x={(offset + index) * 5}
            y={42 - height}
            width="3.6"
            height={height}
            rx="1"
            className={fills[call.outcome] ?? 'fill-strong'}
          />
        );
      })}
    </svg>
  );
}

/** Logarithmic: 1 ms is the minimum, 30 s the full height. */
function barHeight(call: Call): number {
  if (call.outcome === '') return 40;
  const ms = Math.max(1, call.tookNs / 1e6);
  return 4 + Math.min(1, Math.log10(ms) / Math.log10(30_000)) * 36;
}

export function RecentCalls({ limit }: { limit: number }) {
  return <CallLines calls={useLiveCalls().slice(0, limit)} />;
}

/** The newest calls of one server. */
export function ServerCalls({ server }: { server: string }) {
  const { calls } = useCalls({ server });
  return (
    <div className="px-4 py-4 md:px-5">
      {calls.length === 0 ? (
        <p className="text-sm text-ink2">No calls yet.</p>
      ) : (
        <div className="overflow-hidden rounded-lg border">
          <CallLines calls={calls.slice(0, 50)} oneServer />
        </div>
      )}
      <Link
        to="/calls"
        search={{ server }}
        className="mt-3 inline-block text-sm text-accent underline-offset-2 hover:underline"
      >
        All calls
      </Link>
    </div>
  );
}

function CallLines({
  calls,
  oneServer = false,
}: {
  calls: Call[];
  /** Whether all calls are of one server, whose name is then not shown. */
  oneServer?: boolean;
}) {
  const labelOf = useServerName();
  const now = useNow();
  return (
    <ul>
      {calls.map((call) => (
        <li
          key={call.id}
          className={classes(
            'relative flex items-center gap-x-3 border-t px-4 py-1.5 text-sm first:border-t-0 hover:bg-hover max-sm:flex-wrap',
          )}
        >
          <span className="shrink-0 whitespace-nowrap text-ink3 max-sm:order-last max-sm:w-full max-sm:text-xs sm:w-24">
            {clock(call.at, now)}
          </span>
          <Link
            to="/calls/$id"
            params={{ id: call.id }}
            className="min-w-0 flex-1 truncate outline-offset-[-2px] after:absolute after:inset-0 sm:max-w-[60%] sm:flex-initial"
          >
            {call.server && !oneServer && (
              <ServerPrefix label={labelOf(call.server)} limit="max-sm:max-w-[55%]" />
            )}
            <span className="font-medium">
              {escapeControlCharacters(callName(call).slice(0, 300))}
            </span>
          </Link>
          {/* Previews are requested only in the list of one server, which changes less often. */}
          <span className="hidden min-w-0 flex-1 sm:block">
            {oneServer ? (
              <Excerpts call={call} className="" />
            ) : (
              <span className={classes('block truncate text-xs', outcomeIcon(call.outcome).color)}>
                {reasonLine(call)}
              </span>
            )}
          </span>
          {!oneServer && (
            <span className="hidden max-w-40 truncate text-ink3 md:block">
              {escapeControlCharacters(call.client)}
            </span>
          )}
          <span className="w-16 shrink-0 text-right whitespace-nowrap">
            <CallDuration call={call} />
          </span>
          <CallBadge
            call={call}
            className={classes('shrink-0 max-sm:w-auto', oneServer ? 'w-28' : 'w-32')}
          />
        </li>
      ))}
    </ul>
  );
}

function CallBadge({ call, className }: { call: Call; className: string }) {
  return (
    <OutcomeBadge
      waiting={useApprovalOf(call) !== undefined}
      outcome={call.outcome}
      code={call.code}
      taskStatus={openTaskStatus(call)}
      className={className}
    />
  );
}
