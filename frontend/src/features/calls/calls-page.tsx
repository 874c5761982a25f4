import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Activity, Filter, X } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { SearchField } from '@/components/fields';
import { NewItems } from '@/components/new-items';
import { Boundary, Empty, PageHeader } from '@/components/page';
import { clock, count, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import { useHeldList, useReading } from '@/lib/steady-list';
import { texts } from '@/lib/texts';
import { useWideScreen } from '@/lib/wide-screen';
import type { Call } from '@/types/api';
import { erasuresQuery, historyStateQuery } from './api';
import { type Sort, sorted, sorts, useColumns } from './call-columns';
import { CallList } from './call-list';
import { ColumnMenu } from './column-menu';
import { ExportMenu } from './export-menu';
import { FacetPanel } from './facets';
import { type CallFilters, callFilters, outcomeText, readTokens } from './filters';
import { callsTexts } from './texts';
import { useCalls } from './use-calls';

const chipsTexts = {
  q: (q: string) => `“${q}”`,
  client: (name: string) => `Client: ${name}`,
  workspace: (path: string) => `Folder: ${path}`,
  account: (name: string) => `Account: ${name}`,
  version: (version: string) => `Version: ${version}`,
  tag: (tag: string) => `Tag: ${tag}`,
  slow: (ms: number) => `Longer than ${ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}`,
} as const;

const indexedUpTo = (at: string, pending: string) =>
  `Search covers calls up to ${at}; ${pending === '1' ? '1 newer call is' : `${pending} newer calls are`} not indexed yet.`;

const sortedBy = {
  oldest: 'Oldest first',
  longest: 'Longest first',
  shortest: 'Shortest first',
  largest: 'Largest results first',
  smallest: 'Smallest results first',
};

const loaded = (n: string) => (n === '1' ? '1 call loaded' : `${n} calls loaded`);

const toolFilter = (tool: string) => `Tool: ${tool}`;

const idOf = (call: Call) => call.id;

const route = getRouteApi('/calls');

/** The call history, with filters, search and live updates. */
export function CallsPage({
  selected,
  histogram,
}: {
  selected: string | undefined;
  /** The calls over time that match filters. */
  histogram: (filters: CallFilters) => ReactNode;
}) {
  const search = route.useSearch();
  const key = JSON.stringify(callFilters({ ...search }));
  // The same object while the filters are the same, because the list depends on it.
  const filters = useMemo<CallFilters>(() => JSON.parse(key), [key]);
  const navigate = route.useNavigate();
  const change = useCallback(
    (change: CallFilters) => {
      const search = (old: CallFilters) => ({ ...old, ...change });
      // An open detail stays open.
      if (selected === undefined) navigate({ to: '/calls', search, replace: true });
      else navigate({ to: '/calls/$id', params: { id: selected }, search, replace: true });
    },
    [navigate, selected],
  );
  const setSearch = useCallback(
    (text: string) => {
      const { found, rest } = readTokens(text);
      change({ ...found, q: rest || undefined });
    },
    [change],
  );
  // The space completes the last filter; it is not part of the search text.
  const finishSearch = useCallback(
    (text: string) => {
      const { found, rest } = readTokens(`${text} `);
      const q = rest.trim();
      change({ ...found, q: q || undefined });
      return q;
    },
    [change],
  );
  const filtered = Object.values(filters).some(Boolean);
  const sort = sorts.find((one) => one === search.sort);
  const [columns, setColumns] = useColumns();
  const setSort = useCallback(
    (sort: Sort | undefined) => {
      const search = (old: CallFilters) => ({ ...old, sort });
      if (selected === undefined) navigate({ to: '/calls', search, replace: true });
      else navigate({ to: '/calls/$id', params: { id: selected }, search, replace: true });
    },
    [navigate, selected],
  );
  // Beside an open detail, only larger screens have space for a third column.
  const roomy = useWideScreen(selected === undefined ? undefined : '1700px');
  const [panel, setPanel] = useState<boolean | undefined>(undefined);
  const open = panel ?? roomy;
  return (
    <>
      <PageHeader title="Calls" full>
        <SearchField
          label="Search arguments and results"
          hint="Words, or filters such as server:files outcome:error took:>1s"
          value={filters.q ?? ''}
          onChange={setSearch}
          onEnter={finishSearch}
        />
        <Button
          aria-expanded={open}
          className={open ? 'bg-hover!' : undefined}
          onClick={() => setPanel(!open)}
        >
          <Filter className="size-4" aria-hidden />
          Filters
        </Button>
        <ColumnMenu columns={columns} onChange={setColumns} />
        <ExportMenu filters={filters} />
      </PageHeader>
      {filtered && <Chips filters={filters} onChange={change} />}
      {filters.q && <IndexedUpTo />}
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        {open && (
          <div className="shrink-0 border-line max-md:max-h-[45%] max-md:overflow-auto max-md:border-b md:w-56 md:border-r">
            <FacetPanel filters={filters} onChange={change} />
          </div>
        )}
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {histogram(filters)}
          <Boundary>
            <Results
              filters={filters}
              sort={sort}
              onSort={setSort}
              filtered={filtered}
              selected={selected}
            />
          </Boundary>
        </div>
      </div>
    </>
  );
}

const chipTexts: [keyof CallFilters, (value: string) => string][] = [
  ['q', chipsTexts.q],
  ['outcome', outcomeText],
  ['tool', toolFilter],
  ['client', chipsTexts.client],
  ['session', (v) => `Session: ${v.slice(0, 8)}`],
  ['workspace', chipsTexts.workspace],
  ['account', chipsTexts.account],
  ['version', chipsTexts.version],
  ['tag', chipsTexts.tag],
  ['slow', (v) => chipsTexts.slow(Number(v))],
  ['range', (v) => texts.ranges[v as keyof typeof texts.ranges] ?? v],
  ['from', (v) => `From ${exactTime(v).slice(0, 16)}`],
  ['to', (v) => `To ${exactTime(v).slice(0, 16)}`],
];

/** The active filters; a click removes one. */
function Chips({
  filters,
  onChange,
}: {
  filters: CallFilters;
  onChange: (change: CallFilters) => void;
}) {
  const labelOf = useServerName();
  const chips = [
    ...(filters.server ? [['server', `Server: ${labelOf(filters.server)}`] as const] : []),
    ...chipTexts.flatMap(([name, text]) => {
      const value = filters[name];
      return value ? [[name, text(value)] as const] : [];
    }),
  ];
  const none: CallFilters = Object.fromEntries(Object.keys(filters).map((k) => [k, undefined]));
  return (
    <ul aria-label="Active filters" className="flex flex-wrap gap-1.5 px-4 pb-2 md:px-6">
      {chips.map(([name, text]) => (
        <li key={name} className="min-w-0">
          <button
            type="button"
            title="Remove this filter"
            onClick={() => onChange({ [name]: undefined })}
            className="flex max-w-full items-center gap-1 rounded-full bg-accent-soft py-0.5 pr-1.5 pl-2.5 text-xs text-accent"
          >
            <span className="max-w-64 truncate">{escapeControlCharacters(text.slice(0, 120))}</span>
            <X className="size-3.5 shrink-0" aria-hidden />
          </button>
        </li>
      ))}
      <li>
        <button
          type="button"
          onClick={() => onChange(none)}
          className="rounded-full px-2 py-0.5 max-md:px-0 text-xs text-ink2 underline-offset-2 hover:underline"
        >
          {texts.actions.clearFilters}
        </button>
      </li>
    </ul>
  );
}

/** Up to which time the search index is complete, while it is not up to date. */
function IndexedUpTo() {
  const { data } = useQuery({ ...historyStateQuery, refetchInterval: 2000 });
  const now = useNow();
  if (!data || data.indexPending === 0 || !data.indexedUpTo) return null;
  return (
    <p role="status" className="px-4 pb-2 text-xs text-ink3 md:px-6">
      {indexedUpTo(clock(data.indexedUpTo, now), count(data.indexPending))}
    </p>
  );
}

function Results({
  filters,
  sort,
  onSort,
  filtered,
  selected,
}: {
  filters: CallFilters;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
  filtered: boolean;
  selected: string | undefined;
}) {
  const found = useCalls(filters);
  const { refresh, loadOlder, hasOlder, isLoadingOlder } = found;
  const { reading, props: reader } = useReading();
  const { data: erasures } = useQuery(erasuresQuery);
  const {
    shown: calls,
    newer,
    show,
  } = useHeldList(
    useMemo(() => sorted(found.calls, sort), [found.calls, sort]),
    idOf,
    reading || selected !== undefined,
    JSON.stringify([filters, sort, erasures]),
  );
  const scroller = useRef<HTMLDivElement>(null);
  const showNewer = async () => {
    if (found.newer > 0) await refresh();
    show();
    scroller.current?.scrollTo(0, 0);
  };
  // Other filters are another list, which begins at its top.
  const list = JSON.stringify([filters, sort]);
  const previous = useRef(list);
  useEffect(() => {
    if (previous.current !== list) scroller.current?.scrollTo(0, 0);
    previous.current = list;
  }, [list]);
  const [columns] = useColumns();
  const navigate = route.useNavigate();
  const open = useCallback(
    (id: string) =>
      navigate({
        to: '/calls/$id',
        params: { id },
        search: { ...filters, sort },
        replace: true,
      }),
    [navigate, filters, sort],
  );
  const older = useCallback(() => void loadOlder(), [loadOlder]);
  if (calls.length === 0 && !hasOlder) return filtered ? <NoMatch /> : <NoCalls />;
  return (
    <>
      {sort !== undefined && (
        <div
          role="status"
          className="flex flex-wrap items-center gap-2 px-4 pb-2 text-sm text-ink2 md:px-6"
        >
          {`${sortedBy[sort]}, ${loaded(count(calls.length))}.`}{' '}
          {hasOlder && 'The history contains more calls; the newest are loaded first.'}
          {hasOlder && (
            <Button small disabled={isLoadingOlder} onClick={older}>
              {isLoadingOlder ? 'Loading older calls…' : 'Load more'}
            </Button>
          )}
          <Button small look="quiet" onClick={() => onSort(undefined)}>
            Newest first
          </Button>
        </div>
      )}
      <div className="relative flex min-h-0 flex-1 flex-col">
        <NewItems newer={newer + found.newer} onShow={showNewer} />
        <CallList
          calls={calls}
          filters={filters}
          sort={sort}
          columns={columns}
          onSort={onSort}
          selected={selected}
          onOpen={open}
          hasOlder={hasOlder}
          isLoadingOlder={isLoadingOlder}
          loadOlder={older}
          scroller={scroller}
          reader={reader}
        />
      </div>
      <span className="sr-only" role="status">
        {`${calls.length} loaded`}
      </span>
    </>
  );
}

function NoMatch() {
  return (
    <Empty icon={Activity} title="No call matches these filters">
      <Link to="/calls" className={`mt-4 ${buttonClasses()}`}>
        {texts.actions.clearFilters}
      </Link>
    </Empty>
  );
}

function NoCalls() {
  return (
    <Empty icon={Activity} title="No calls yet">
      <p>{callsTexts.emptyBody}</p>
      <div className="mt-4 flex justify-center gap-2">
        <Link to="/clients" className={buttonClasses('primary')}>
          {texts.actions.connectClient}
        </Link>
        <Link to="/tools" className={buttonClasses()}>
          Try a tool
        </Link>
      </div>
    </Empty>
  );
}
