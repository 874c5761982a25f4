import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ShowMore } from '@/components/more';
import { age, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { requestList } from '@/lib/request';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { RecentChange } from '@/types/api';

const kindsTexts = withoutPrototypes({
  server: () => 'New server',
  version: () => 'New version',
  command: () => 'New command',
  tool: (name: string) => `New tool: ${name}`,
  definition: (name: string, action: string) => `Definition of ${name} ${action}`,
  warning: (name: string) => `Warning about ${name}`,
  destination: (name: string) => `New destination: ${name}`,
} as const satisfies Record<string, (name: string, action: string) => string>);

const words = {
  title: 'What changed this week',
};

export const recentChangesQuery = queryOptions({
  queryKey: ['recent-changes'],
  queryFn: ({ signal }) => requestList<RecentChange>('/api/v1/recent-changes', signal),
  refetchInterval: 60_000,
  retry: false,
});

const few = 6;
const most = 200;

/** The changes of this week, newest first; hidden if there are none. */
export function RecentChanges() {
  const { data: list } = useQuery(recentChangesQuery);
  const [all, setAll] = useState(false);
  const nameOf = useServerName();
  const now = useNow();
  if (!list?.length) return null;
  return (
    <section aria-label={words.title}>
      <h2 className="mb-2 text-sm font-semibold">{words.title}</h2>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {list.slice(0, all ? most : few).map((one) => (
          <li
            key={`${one.at}${one.server}${one.kind}${one.name}`}
            className="flex flex-wrap items-baseline gap-x-3 border-t px-4 py-1.5 text-sm first:border-t-0"
          >
            <Link
              to="/servers/$id"
              params={{ id: one.server }}
              className="max-w-40 shrink-0 truncate font-medium sm:w-40 underline-offset-2 hover:underline"
            >
              {escapeControlCharacters(nameOf(one.server).slice(0, 200))}
            </Link>
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{sentence(one)}</span>
            <time dateTime={one.at} title={exactTime(one.at)} className="text-xs text-ink3">
              {texts.servers.ago(age(one.at, now))}
            </time>
          </li>
        ))}
        {list.length > few && (
          <li className="border-t px-4 py-1.5 text-sm">
            <ShowMore n={Math.min(list.length, most) - few} all={all} onToggle={setAll} />
          </li>
        )}
      </ul>
    </section>
  );
}

function sentence({ kind, name, action, detail }: RecentChange): string {
  const said = kindsTexts[kind](
    escapeControlCharacters(name.slice(0, 200)),
    texts.trust.actions[action] ?? action,
  );
  return detail ? `${said}: ${escapeControlCharacters(detail.slice(0, 200))}` : said;
}
