import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { StateBadge } from '@/components/state-badge';
import { classes } from '@/lib/class-names';
import { bytes, count, escapeControlCharacters, sentence } from '@/lib/format';
import { texts } from '@/lib/texts';
import { serversQuery, serverUseQuery, visibleToolsQuery } from './api';
import { RemedyButton } from './server-remedy';
import { needsAttention } from './servers-needing-attention';

const most = 12;
/** A line "1 more" would take the place of the server that it hides. */
const limit = (all: number) => (all === most + 1 ? all : most);

/** One line per server: its state, its number of calls if they are given, its tools and its memory use. */
export function CompactServerList({ calls }: { calls?: Map<string, number> | undefined }) {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: use } = useQuery(serverUseQuery);
  const { data: visible } = useQuery(visibleToolsQuery);
  const memory = new Map(use?.map((one) => [one.server, one.rssBytes]));
  return (
    <ul className="@container overflow-hidden rounded-lg border bg-panel shadow-card">
      {servers.slice(0, limit(servers.length)).map((server) => (
        <li
          key={server.id}
          className={classes(
            'relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-t px-4 py-1.5 text-sm first:border-t-0 hover:bg-hover',
            calls
              ? '@lg:grid-cols-[minmax(0,1fr)_8.5rem_5rem_6rem_4.5rem]'
              : '@lg:grid-cols-[minmax(0,1fr)_8.5rem_6rem_4.5rem]',
          )}
        >
          <Link
            to="/servers/$id"
            params={{ id: server.id }}
            className="truncate font-medium outline-offset-[-2px] after:absolute after:inset-0"
          >
            {escapeControlCharacters((server.label || server.id).slice(0, 200))}
          </Link>
          <StateBadge state={server.state} />
          {calls && (
            <TextCell
              text={calls.get(server.id) && texts.clients.calls(count(calls.get(server.id) ?? 0))}
            />
          )}
          <TextCell
            text={server.tools > 0 && texts.servers.tools(server.tools, visible?.[server.id])}
          />
          <TextCell text={memory.has(server.id) && bytes(memory.get(server.id))} />
          {!calls && needsAttention(server) && (server.reason || server.hint) && (
            <div className="col-span-full flex flex-wrap items-center gap-x-3 gap-y-1">
              <p className="line-clamp-2 min-w-0 flex-1 basis-60 text-ink2 [overflow-wrap:anywhere]">
                {escapeControlCharacters(sentence(server.reason || server.hint || ''))}
              </p>
              <RemedyButton server={server} />
            </div>
          )}
        </li>
      ))}
      {servers.length > limit(servers.length) && (
        <li className="border-t px-4 py-1.5 text-sm">
          <Link to="/servers" className="text-accent underline-offset-2 hover:underline">
            {texts.more(servers.length - most)}
          </Link>
        </li>
      )}
    </ul>
  );
}

/** A text at the right, where there is space for it. */
function TextCell({ text }: { text: string | false | 0 | undefined }) {
  return (
    <span className="hidden text-right whitespace-nowrap text-ink3 @lg:block">{text || ''}</span>
  );
}
