import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, LoaderCircle } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { Section } from '@/components/fields';
import { More } from '@/components/more';
import { ScrollArea } from '@/components/scroll-area';
import { StateBadge } from '@/components/state-badge';
import { serverQuery, serversQuery } from '@/features/servers/api';
import { SignIn } from '@/features/servers/sign-in';
import { ServerButtons } from '@/features/servers/start-stop-buttons';
import { toolsQuery } from '@/features/tools/api';
import { escapeControlCharacters, logText } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import type { ServerStatus } from '@/types/api';

const startedTexts = withoutPrototypes({
  whatToDo: {
    crashed:
      'Check the last output. Often, a value is wrong or a program is missing. Fix the server’s configuration, then restart it.',
    backoff: 'It is restarted automatically. If it keeps failing, fix its configuration.',
    waiting: 'It starts automatically when the missing program or service becomes available.',
    stopped: 'Start the server.',
    paused: 'All servers are paused. Resume them.',
    'needs-login': 'Sign in; the server then starts automatically.',
    'needs-approval': 'Approve its command under Approvals.',
  } as Record<string, string>,
} as const);

const t = startedTexts;
const busy = new Set(['starting', 'backoff', 'waiting']);

/** The result of an installation: the server's tools, or the error and what to do about it. */
export function InstalledServer({ id }: { id: string }) {
  const { data: servers } = useQuery(serversQuery);
  const server = servers?.find((one) => one.id === id);
  return (
    <Section title="Installed">
      <div aria-live="polite" className="space-y-3">
        {server ? (
          <Outcome server={server} />
        ) : (
          <Waiting text="Added to the configuration. Waiting for the server…" />
        )}
      </div>
      <div className="mt-4 flex flex-wrap gap-2">
        <Link to="/servers/$id" params={{ id }} className={buttonClasses('primary')}>
          Open server page
        </Link>
        {server && server.state !== 'running' && <ServerButtons server={server} />}
      </div>
    </Section>
  );
}

function Waiting({ text }: { text: string }) {
  return (
    <p role="status" className="flex items-center gap-2 text-sm text-ink2">
      <LoaderCircle className="size-4 shrink-0 animate-spin" aria-hidden />
      {text}
    </p>
  );
}

function Outcome({ server }: { server: ServerStatus }) {
  const { data: detail } = useQuery(serverQuery(server.id));
  const { data: all } = useQuery(toolsQuery);
  const tools = (all ?? []).filter((tool) => tool.server === server.id);
  if (server.state === 'running')
    return (
      <>
        <p className="flex items-center gap-2 text-sm font-medium text-ok">
          <CircleCheck className="size-4 shrink-0" aria-hidden />
          {server.tools === 1 ? 'Running with 1 tool.' : `Running with ${server.tools} tools.`}
        </p>
        {tools.length > 0 && (
          <ul aria-label="Tools" className="overflow-hidden rounded-md border text-sm">
            {tools.slice(0, 100).map((tool) => (
              <li key={tool.name} className="border-t px-3 py-1.5 first:border-t-0">
                <code className="font-mono text-xs font-medium [overflow-wrap:anywhere]">
                  {escapeControlCharacters(tool.tool.slice(0, 200))}
                </code>
                <p className="line-clamp-2 text-xs text-ink2 [overflow-wrap:anywhere]">
                  {escapeControlCharacters((tool.description || tool.title).slice(0, 400))}
                </p>
              </li>
            ))}
          </ul>
        )}
        <More of={tools.length} shown={100} />
      </>
    );
  if (busy.has(server.state) && !server.reason)
    return (
      <Waiting text="Starting. The first start downloads the package, which can take a minute." />
    );
  const log = (detail?.log ?? []).slice(-12);
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 text-sm">
        <StateBadge state={server.state} />
      </p>
      {server.reason && (
        <p className="flex gap-2 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]">
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0">
            {escapeControlCharacters(server.reason.slice(0, 2000))}
            {server.detail &&
              !server.reason.includes(server.detail) &&
              ` ${escapeControlCharacters(server.detail.slice(0, 2000))}`}
          </span>
        </p>
      )}
      {server.state === 'needs-login' && <SignIn server={server} />}
      <p className="text-sm text-ink2">{t.whatToDo[server.state] ?? 'See the log on its page.'}</p>
      {log.length > 0 && (
        <ScrollArea
          aria-label="Last output"
          className="max-h-48 rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {log.map((line) => logText(line.text.slice(0, 1000))).join('\n')}
        </ScrollArea>
      )}
    </>
  );
}
