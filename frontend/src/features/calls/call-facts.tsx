import { Link } from '@tanstack/react-router';
import { Facts } from '@/components/fields';
import { bytes, duration, escapeControlCharacters, exactTime, wellFormed } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';

const t = texts.calls;

/** The queue time and the execution time as one bar, drawn to scale. */
export function Timing({ call }: { call: Call }) {
  const queued = Math.min(call.queuedNs, call.tookNs);
  const share = call.tookNs > 0 ? (queued / call.tookNs) * 100 : 0;
  return (
    <>
      <svg
        viewBox="0 0 100 2"
        preserveAspectRatio="none"
        className="mb-2 h-2 w-full rounded-full"
        aria-hidden
      >
        <rect width="100" height="2" className="fill-accent" />
        <rect width={share} height="2" className="fill-warn" />
      </svg>
      <Facts
        rows={[
          [t.total, duration(call.tookNs)],
          [
            waitedForUser(call) ? texts.sessions.waterfall.asked : t.queued,
            queued > 0 && duration(queued),
          ],
          [t.approval, call.approval && (texts.sessions.approvals[call.approval] ?? call.approval)],
          [t.working, duration(call.tookNs - queued)],
        ]}
      />
    </>
  );
}

/**
 * Whether the user was asked about this very call. An earlier answer may also have approved it, but
 * nobody answers that fast.
 */
function waitedForUser({ approval, queuedNs }: Call): boolean {
  if (approval === '' || approval === 'nobody') return false;
  return ['once', 'denied', 'expired'].includes(approval) || queuedNs > 5e8;
}

/** The other details of a call. */
export function CallFacts({ call, server }: { call: Call; server: string }) {
  return (
    <Facts
      rows={[
        [t.time, exactTime(call.at)],
        [
          t.clientName,
          escapeControlCharacters([call.client, call.clientVersion].filter(Boolean).join(' ')),
        ],
        [t.token, escapeControlCharacters(call.token)],
        [
          t.server,
          call.server && (
            <Link
              to="/servers/$id"
              params={{ id: call.server }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {escapeControlCharacters(server.slice(0, 200))}
            </Link>
          ),
        ],
        [t.method, escapeControlCharacters(call.method)],
        [t.publicName, call.publicName !== call.tool && escapeControlCharacters(call.publicName)],
        [t.direction, call.fromServer && t.fromServer],
        [t.code, call.code],
        [t.sizes, t.sizesValue(bytes(call.bytesIn), bytes(call.bytesOut))],
        [t.attempts, call.attempts > 1 && call.attempts],
        [t.progressLabel, call.progress > 0 && t.progress(call.progress)],
        [t.era, texts.mcp(undefined, call.era)],
        [
          t.session,
          call.session && (
            <Link
              to="/sessions/$session"
              params={{ session: wellFormed(call.session) }}
              className="text-accent underline-offset-2 hover:underline"
            >
              <Mono text={call.session} />
            </Link>
          ),
        ],
        [
          t.workspace,
          call.workspace && (
            <Link
              to="/calls"
              search={{ workspace: call.workspace }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {escapeControlCharacters(call.workspace.slice(0, 500))}
            </Link>
          ),
        ],
        [
          t.account,
          call.account && (
            <Link
              to="/calls"
              search={{ server: call.server, account: call.account }}
              className="text-accent underline-offset-2 hover:underline"
            >
              {escapeControlCharacters(call.account)}
            </Link>
          ),
        ],
        [
          t.servedBy,
          call.servedBy && (
            <Link
              to="/calls"
              search={{
                server: call.server,
                version: call.servedBy.version || call.servedBy.package || undefined,
              }}
              title={escapeControlCharacters(call.servedBy.package)}
              className="text-accent underline-offset-2 hover:underline"
            >
              {escapeControlCharacters(
                `${call.servedBy.name} ${call.servedBy.version}`.slice(0, 200),
              )}
            </Link>
          ),
        ],
        [t.instance, call.instance && <Mono text={call.instance} />],
        [t.trace, call.traceId && <Mono text={call.traceId} />],
        [t.id, <Mono key="id" text={call.id} />],
      ]}
    />
  );
}

function Mono({ text }: { text: string }) {
  return <span className="font-mono text-xs">{escapeControlCharacters(text)}</span>;
}
