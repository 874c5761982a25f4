import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { SearchField, SelectField } from '@/components/fields';
import { PageHeader } from '@/components/page';
import { SortButton } from '@/components/sort-button';
import { stateTone } from '@/components/state-badge';
import { byName } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { statusQuery } from '@/lib/status-query';
import { useReading, useSteadyOrder } from '@/lib/steady-list';
import { texts } from '@/lib/texts';
import type { ServerStatus, UsageStats } from '@/types/api';
import { serversQuery, versionsQuery, visibleToolsQuery } from './api';
import { NoServers } from './no-servers';
import type { ServerFilters } from './server-page-views';
import { ServerRow, wideCell, widestCell } from './server-row';
import { serversText } from './servers-needing-attention';

const idOf = ({ id }: ServerStatus) => id;

const route = getRouteApi('/servers');

const isBroken = ({ state }: ServerStatus) => ['bad', 'warn'].includes(stateTone(state));

const stateFilters = {
  attention: { text: 'Needs attention', has: isBroken },
  running: { text: 'Running', has: ({ state }: ServerStatus) => state === 'running' },
  off: { text: 'Not running', has: ({ state }: ServerStatus) => stateTone(state) === 'off' },
};

function matchesServer(server: ServerStatus, { q = '', state, tag }: ServerFilters): boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [
    server.label,
    server.id,
    server.transport,
    texts.states[server.state],
    server.reason,
    ...(server.tags ?? []),
  ]
    .join(' ')
    .toLowerCase();
  return (
    words.every((word) => text.includes(word)) &&
    (!state || stateFilters[state].has(server)) &&
    (!tag || (server.tags ?? []).includes(tag))
  );
}

export function ServersPage({
  selected,
  uses,
}: {
  selected: string | undefined;
  /** The calls of each server in the last day. */
  uses: UsageStats[] | undefined;
}) {
  const { data: servers } = useSuspenseQuery(serversQuery);
  const { data: versions } = useQuery(versionsQuery);
  const { data: visible } = useQuery(visibleToolsQuery);
  const { data: status } = useQuery(statusQuery);
  const idle = servers.every(({ state }) => state === 'disabled') && status?.idle;
  const filters = route.useSearch();
  const { q, state, tag, sort } = filters;
  const navigate = route.useNavigate();
  const set = (part: Partial<ServerFilters>) =>
    navigate({ to: '.', search: (old) => ({ ...old, ...part }), replace: true });
  const use = new Map(uses?.map((one) => [one.server, one]));
  const tags = [...new Set(servers.flatMap((server) => server.tags ?? []))].sort(byName);
  const orders: Record<NonNullable<ServerFilters['sort']>, (server: ServerStatus) => number> = {
    state: (server) => ['warn', 'bad'].indexOf(stateTone(server.state)),
    tools: (server) => server.tools,
    calls: (server) => use.get(server.id)?.calls ?? 0,
    errors: (server) => use.get(server.id)?.errors ?? 0,
    name: () => 0,
  };
  const order = orders[sort ?? 'state'];
  const { reading, props: reader } = useReading();
  const shown = useSteadyOrder(
    servers
      .filter((server) => matchesServer(server, filters))
      .sort((a, b) =>
        sort === 'name' ? byName(a.label || a.id, b.label || b.id) : order(b) - order(a),
      ),
    idOf,
    reading || selected !== undefined,
    sort,
  );
  const head = (by: NonNullable<ServerFilters['sort']>, text: string, className: string) => (
    <SortButton
      text={text}
      className={className}
      sorted={(sort ?? 'state') === by && (by === 'name' ? 'ascending' : 'descending')}
      onSort={() => set({ sort: by === 'state' ? undefined : by })}
    />
  );
  return (
    <>
      <PageHeader
        title={texts.servers.title}
        note={
          servers.length > 0 &&
          `${shown.length < servers.length ? `${shown.length} of ` : ''}${serversText(servers)}`
        }
        action={
          servers.length > 0 && (
            <Link to="/add" className={buttonClasses('primary')}>
              <Plus className="size-4" aria-hidden />
              {texts.add.button}
            </Link>
          )
        }
      >
        {servers.length > 3 && (
          <>
            <SearchField
              label="Search servers"
              value={q ?? ''}
              delayMs={60}
              onChange={(text) => set({ q: text || undefined })}
            />
            <SelectField
              label="State"
              value={state ?? ''}
              options={[
                { value: '', text: 'All states' },
                ...Object.entries(stateFilters).map(([value, { text }]) => ({ value, text })),
              ]}
              onChange={(to) => set({ state: (to || undefined) as ServerFilters['state'] })}
            />
            {tags.length > 0 && (
              <SelectField
                label="Tags"
                value={tag ?? ''}
                options={[
                  { value: '', text: 'All tags' },
                  ...tags.map((value) => ({ value, text: value })),
                ]}
                onChange={(to) => set({ tag: to || undefined })}
              />
            )}
          </>
        )}
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6" {...reader}>
        {servers.length === 0 ? (
          <NoServers />
        ) : shown.length === 0 ? (
          <p className="py-10 text-center text-ink2">No server matches these filters.</p>
        ) : (
          <div className="@container max-w-page">
            {idle && <p className="pb-2 text-sm text-ink2">{`${idle.reason}.`}</p>}
            <table
              aria-label={texts.servers.title}
              className="w-full overflow-hidden rounded-lg border bg-panel shadow-card"
            >
              <thead>
                <tr className="text-left">
                  {head('name', 'Server', 'pl-4')}
                  {head('state', 'State', 'px-3')}
                  <th className={`${widestCell} text-xs font-medium text-ink3`}>Version</th>
                  {head('tools', 'Tools', wideCell)}
                  {head('calls', 'Calls, 24 h', wideCell)}
                  {head('errors', 'Errors', wideCell)}
                  <td />
                </tr>
              </thead>
              {shown.map((server) => (
                <ServerRow
                  key={server.id}
                  server={server}
                  selected={server.id === selected}
                  version={versions?.get(server.id)}
                  visible={visible?.[server.id]}
                  withheld={ownValue(status?.withheld ?? {}, server.id)}
                  use={use.get(server.id)}
                  filters={{ q, state, tag, sort }}
                />
              ))}
            </table>
          </div>
        )}
      </div>
    </>
  );
}
