import { Link } from '@tanstack/react-router';
import { Facts } from '@/components/fields';
import { reachedServer } from '@/components/outcome-badge';
import { bytes, duration, escapeControlCharacters, exactTime, wellFormed } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { callsTexts } from './texts';

const approvals: Record<string, string> = {
  once: 'Allowed once',
  minutes: 'Allowed for 10 minutes',
  session: 'Allowed for the session',
  always: 'Always allowed',
  denied: 'Denied',
  expired: 'Expired',
  nobody: 'No approver available',
};

/** The queue time and the execution time as one bar, drawn to scale. */
export function Timing({ call }: { call: Call }) {
  const queued = Math.min(call.queuedNs, call.tookNs);
  const reached = reachedServer(call);
  const share = !reached ? 100 : call.tookNs > 0 ? (queued / call.tookNs) * 100 : 0;
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
          ['Total', duration(call.tookNs)],
          [waitedForUser(call) ? 'Waited for approval' : 'Queued', queued > 0 && duration(queued)],
          ['Approval', call.approval && (ownValue(approvals, call.approval) ?? call.approval)],
          ['Server', reached ? duration(call.tookNs - queued) : 'Not called'],
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
        ['Time', exactTime(call.at)],
        [
          'Client',
          escapeControlCharacters([call.client, call.clientVersion].filter(Boolean).join(' ')),
        ],
        ['Access token', escapeControlCharacters(call.token)],
        [
          'Server',
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
        ['Method', escapeControlCharacters(call.method)],
        [
          'Name shown to clients',
          call.publicName !== call.tool && escapeControlCharacters(call.publicName),
        ],
        ['Direction', call.fromServer && 'Server to client'],
        ['Code', call.code],
        ['Size', `${bytes(call.bytesIn)} sent, ${bytes(call.bytesOut)} received`],
        ['Attempts', call.attempts > 1 && call.attempts],
        ['Progress', call.progress > 0 && callsTexts.progress(call.progress)],
        ['Protocol', texts.mcp(undefined, call.era)],
        [
          'Session',
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
          'Folder',
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
          'Account',
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
          'Handled by',
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
        ['Instance', call.instance && <Mono text={call.instance} />],
        ['Trace ID', call.traceId && <Mono text={call.traceId} />],
        ['Call ID', <Mono key="id" text={call.id} />],
      ]}
    />
  );
}

function Mono({ text }: { text: string }) {
  return <span className="font-mono text-xs">{escapeControlCharacters(text)}</span>;
}
