import { getRouteApi, Link } from '@tanstack/react-router';
import { Activity, X } from 'lucide-react';
import { useCallback, useMemo } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { SearchField, SelectField } from '@/components/fields';
import { Boundary, Empty, PageHeader } from '@/components/page';
import { count, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Outcome } from '@/types/api';
import { CallList } from './call-list';
import type { CallFilters } from './filters';
import { useCalls } from './use-calls';

const route = getRouteApi('/calls');
const t = texts.calls;

export interface Choice {
  value: string;
  text: string;
}

const outcomes: Outcome[] = [
  'ok',
  'tool_error',
  'protocol_error',
  'timeout',
  'cancelled',
  'rejected',
];

const outcomeChoices: Choice[] = [
  { value: '', text: t.anyOutcome },
  { value: 'running', text: texts.outcomes[''] },
  { value: 'failed', text: t.failedOnly },
  ...outcomes.map((outcome) => ({ value: outcome, text: texts.outcomes[outcome] })),
];

/** `servers` and `clients` are what the filters offer. */
export function CallsPage({
  selected,
  servers,
  clients,
  epoch,
}: {
  selected: string | undefined;
  servers: Choice[];
  clients: Choice[];
  epoch: number;
}) {
  const search = route.useSearch();
  const { q, server, client, tool, session, outcome } = search;
  const filters = useMemo<CallFilters>(
    () => ({ q, server, client, tool, session, outcome }),
    [q, server, client, tool, session, outcome],
  );
  const navigate = route.useNavigate();
  const change = useCallback(
    (change: CallFilters) =>
      navigate({ to: '.', search: (old) => ({ ...old, ...change }), replace: true }),
    [navigate],
  );
  const setSearch = useCallback((text: string) => change({ q: text || undefined }), [change]);
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <PageHeader title={t.title}>
        <SearchField label={t.search} value={q ?? ''} onChange={setSearch} />
        <SelectField
          label={t.outcome}
          value={outcome ?? ''}
          options={outcomeChoices}
          onChange={(value) => change({ outcome: value || undefined })}
        />
        <SelectField
          label={t.server}
          value={server ?? ''}
          options={withCurrent([{ value: '', text: t.anyServer }, ...servers], server)}
          onChange={(value) => change({ server: value || undefined })}
        />
        <SelectField
          label={t.client}
          value={client ?? ''}
          options={withCurrent([{ value: '', text: t.anyClient }, ...clients], client)}
          onChange={(value) => change({ client: value || undefined })}
        />
        {tool && (
          <Button onClick={() => change({ tool: undefined })}>
            {plain(t.toolFilter(tool.slice(0, 60)))}
            <X className="size-3.5" aria-hidden />
          </Button>
        )}
        {session && (
          <Button onClick={() => change({ session: undefined })}>
            {plain(t.sessionFilter(session.slice(0, 8)))}
            <X className="size-3.5" aria-hidden />
          </Button>
        )}
        {filtered && (
          <Button
            look="quiet"
            onClick={() =>
              change({
                q: undefined,
                server: undefined,
                client: undefined,
                tool: undefined,
                session: undefined,
                outcome: undefined,
              })
            }
          >
            {texts.actions.clearFilters}
          </Button>
        )}
      </PageHeader>
      <Boundary epoch={epoch}>
        <Results filters={filters} filtered={filtered} selected={selected} />
      </Boundary>
    </>
  );
}

/** A filter from a link may name what exists no more; it stays visible as a choice. */
function withCurrent(choices: Choice[], value: string | undefined): Choice[] {
  if (!value || choices.some((choice) => choice.value === value)) return choices;
  return [...choices, { value, text: plain(value) }];
}

function Results({
  filters,
  filtered,
  selected,
}: {
  filters: CallFilters;
  filtered: boolean;
  selected: string | undefined;
}) {
  const { calls, newer, refresh, loadOlder, hasOlder, isLoadingOlder } = useCalls(filters);
  const navigate = route.useNavigate();
  const open = useCallback(
    (id: string) => navigate({ to: '/calls/$id', params: { id }, search: filters, replace: true }),
    [navigate, filters],
  );
  const older = useCallback(() => void loadOlder(), [loadOlder]);
  if (calls.length === 0 && !hasOlder) return filtered ? <NoMatch /> : <NoCalls />;
  return (
    <>
      {newer > 0 && (
        <div className="flex items-center justify-center gap-2 px-4 pb-2 text-sm text-ink2">
          {t.newer(newer)}
          <Button small onClick={() => refresh()}>
            {t.searchAgain}
          </Button>
        </div>
      )}
      <CallList
        calls={calls}
        filters={filters}
        selected={selected}
        onOpen={open}
        hasOlder={hasOlder}
        isLoadingOlder={isLoadingOlder}
        loadOlder={older}
      />
      <span className="sr-only" role="status">
        {t.loaded(Number(count(calls.length).replaceAll(',', '')))}
      </span>
    </>
  );
}

function NoMatch() {
  return <p className="py-12 text-center text-ink2">{t.noMatch}</p>;
}

function NoCalls() {
  return (
    <Empty icon={Activity} title={t.emptyTitle}>
      <p>{t.emptyBody}</p>
      <div className="mt-4 flex justify-center gap-2">
        <Link to="/clients" className={buttonClasses('primary')}>
          {t.connectClient}
        </Link>
        <Link to="/tools" className={buttonClasses()}>
          {t.tryTool}
        </Link>
      </div>
    </Empty>
  );
}
