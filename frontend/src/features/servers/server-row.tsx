import { Link } from '@tanstack/react-router';
import { StateBadge, stateTone } from '@/components/state-badge';
import { classes } from '@/lib/class-names';
import { age, escapeControlCharacters, sentence } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { hasRemedy, RemedyButton } from './server-remedy';
import { ServerMenu } from './start-stop-buttons';

const edges = {
  ok: 'before:bg-ok',
  busy: 'before:bg-accent',
  warn: 'before:bg-warn',
  bad: 'before:bg-bad',
  off: 'before:bg-strong',
};

/** One server as a card-like row; the whole row is a link to its detail. */
export function ServerRow({
  server,
  selected,
  filter,
  version,
  visible,
  withheld = 0,
}: {
  server: ServerStatus;
  selected: boolean;
  /** The version of its package, if known. */
  version?: string | undefined;
  /** The number of tools that clients see, if some are hidden. */
  visible?: number | undefined;
  /** The number of its changed definitions that wait for a review. */
  withheld?: number | undefined;
  filter: string | undefined;
}) {
  const helped = Boolean(server.reason || hasRemedy(server));
  return (
    <li
      className={classes(
        'relative flex items-center gap-3 rounded-lg border py-2.5 pr-2 pl-4 shadow-card transition-colors',
        'before:absolute before:top-2.5 before:bottom-2.5 before:left-1.5 before:w-[3px] before:rounded-full',
        edges[stateTone(server.state)],
        selected ? 'border-accent bg-accent-soft' : 'bg-panel hover:border-strong',
        server.state === 'disabled' && 'shadow-none',
      )}
    >
      <div className="@container min-w-0 flex-1">
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 @xl:grid-cols-[minmax(0,1fr)_9.5rem_6.5rem_7.5rem]">
          <div className="min-w-0">
            <Link
              to="/servers/$id"
              params={{ id: server.id }}
              search={{ q: filter }}
              aria-current={selected || undefined}
              className="block truncate font-semibold outline-offset-4 after:absolute after:inset-0 after:rounded-lg"
            >
              {escapeControlCharacters(server.label || server.id)}
            </Link>
            <div className="flex text-xs text-ink3">
              <span className="max-w-full shrink-0 truncate">
                {texts.transports[server.transport] ?? server.transport}
                {version ? (
                  <span className="@max-xs:hidden">
                    {' · '}
                    {texts.versions
                      .short(escapeControlCharacters(version.slice(0, 71)))
                      .slice(0, 24)}
                  </span>
                ) : null}
                {server.pid ? (
                  <span className="@max-xl:hidden"> · {texts.servers.pid(server.pid)}</span>
                ) : null}
                {server.tools > 0 && (
                  <span className="@xl:hidden">
                    {' '}
                    · {texts.servers.tools(server.tools, visible)}
                  </span>
                )}
              </span>
              {/* Tags without space are in further lines, which are hidden. */}
              <span className="flex h-[1.125rem] min-w-0 flex-1 flex-wrap gap-x-1.5 overflow-hidden before:content-['']">
                {(server.tags ?? []).map((tag) => (
                  <span key={tag} className="rounded bg-sunken px-1 whitespace-nowrap text-ink2">
                    {escapeControlCharacters(tag.slice(0, 40))}
                  </span>
                ))}
              </span>
            </div>
          </div>
          <div className="flex flex-col items-end @xl:items-start">
            <StateBadge state={server.state} />
            <div className="text-xs text-ink3 @xl:hidden">
              <StateAge server={server} />
            </div>
          </div>
          <div className="hidden text-right text-sm text-ink2 @xl:block">
            {server.tools > 0 && texts.servers.tools(server.tools, visible)}
          </div>
          <div className="hidden text-right text-sm text-ink3 @xl:block">
            <StateAge server={server} />
          </div>
        </div>
        {helped && (
          <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1">
            <p
              className={classes(
                'line-clamp-2 min-w-0 flex-1 basis-40 text-sm [overflow-wrap:anywhere]',
                stateTone(server.state) === 'bad' ? 'text-bad' : 'text-ink2',
              )}
            >
              {escapeControlCharacters(sentence(server.reason ?? ''))}
            </p>
            <RemedyButton server={server} />
          </div>
        )}
        {withheld > 0 && (
          <p className="mt-1 text-sm text-ink2">
            {texts.servers.withheld(withheld)}{' '}
            <Link
              to="/servers/$id"
              params={{ id: server.id }}
              search={{ q: filter, view: 'tools' }}
              className="relative z-10 text-accent underline underline-offset-2"
            >
              Review
            </Link>
          </p>
        )}
      </div>
      <div className={classes('relative z-10', (helped || withheld > 0) && 'self-start')}>
        <ServerMenu server={server} />
      </div>
    </li>
  );
}

/** How long a server has been in its state. "Restarting" is not for long. */
function StateAge({ server }: { server: ServerStatus }) {
  const text = age(server.since, useNow());
  return <>{text && server.state !== 'backoff' && texts.servers.stateFor(text)}</>;
}
