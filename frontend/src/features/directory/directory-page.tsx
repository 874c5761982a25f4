import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileArchive, LoaderCircle, PackageSearch, RefreshCw } from 'lucide-react';
import { Button, buttonClasses } from '@/components/button';
import { SearchField, SelectField } from '@/components/fields';
import { Empty, Failed, Loading, PageHeader } from '@/components/page';
import { age, count, escapeControlCharacters, exactTime, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { Directory } from '@/types/api';
import { directoryQuery, type Filters, useRefresh } from './api';
import { Note } from './note';
import { ServerCard } from './server-card';
import { kindNames, kinds, listFilters } from './server-labels';

const onlyTexts = withoutPrototypes({
  curated: 'Built-in list',
  installed: 'Installed',
  installable: 'Can be installed',
} as const);

const refreshed = (n: string) => (n === '1' ? 'Updated: 1 server.' : `Updated: ${n} servers.`);

/** Servers that can be installed, with search, filters and a refresh from the registry. */
export function DirectoryPage({
  filters,
  selected,
  onFilter,
}: {
  filters: Filters;
  selected: string | undefined;
  onFilter: (part: Filters) => void;
}) {
  const list = useQuery(directoryQuery(filters));
  const { data } = list;
  const narrowed = Boolean(filters.q || filters.kind || filters.only);
  return (
    <>
      <PageHeader
        title={texts.directory.title}
        note={
          data && (
            <span className="@max-md:hidden">
              {data.total === 1 ? '1 server' : `${data.total} servers`}
            </span>
          )
        }
        action={
          <Link
            to="/directory"
            search={(old) => ({ ...old, name: undefined, file: '1' })}
            className={buttonClasses()}
          >
            <FileArchive className="size-4" aria-hidden />
            Install from file…
          </Link>
        }
      >
        <SearchField
          label="Search by name or description"
          value={filters.q ?? ''}
          onChange={(q) => onFilter({ q: q || undefined })}
        />
        <SelectField
          label="Type"
          value={filters.kind ?? ''}
          options={[
            { value: '', text: 'Any type' },
            ...kinds.map((kind) => ({ value: kind, text: kindNames[kind] })),
          ]}
          onChange={(kind) => onFilter({ kind: kind || undefined })}
        />
        <SelectField
          label="Show"
          value={filters.only ?? ''}
          options={[
            { value: '', text: 'All servers' },
            ...listFilters.map((only) => ({ value: only, text: onlyTexts[only] })),
          ]}
          onChange={(only) => onFilter({ only: only || undefined })}
        />
      </PageHeader>
      <div className="scroll-area min-h-0 flex-1 px-4 pb-6 md:px-6">
        {data && <Freshness directory={data} />}
        {list.isError && !data ? (
          <Failed error={list.error} onRetry={() => list.refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.items.length === 0 ? (
          <Empty icon={PackageSearch} title={narrowed ? 'No server matches' : 'The list is empty'}>
            <p>
              {narrowed
                ? 'Try another search, or fetch the registry.'
                : 'Fetch the registry to fill it.'}
            </p>
            {narrowed && (
              <Button
                className="mt-4"
                onClick={() => onFilter({ q: undefined, kind: undefined, only: undefined })}
              >
                {texts.actions.clearFilters}
              </Button>
            )}
          </Empty>
        ) : (
          <>
            <ul
              aria-label={texts.directory.title}
              className="grid max-w-page grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-3"
            >
              {data.items.map((item) => (
                <ServerCard key={item.name} item={item} selected={item.name === selected} />
              ))}
            </ul>
            {data.total > data.items.length && (
              <p className="py-4 text-center text-sm text-ink2">
                {`Showing ${count(data.items.length)} of ${count(data.total)}. Search to narrow the list.`}
              </p>
            )}
          </>
        )}
      </div>
    </>
  );
}

/** The age of the list of the registry, and the button that refreshes it. */
function Freshness({ directory }: { directory: Directory }) {
  const refresh = useRefresh();
  const now = useNow();
  const at = moment(directory.refreshedAt);
  const address = escapeControlCharacters(directory.address.slice(0, 300));
  return (
    <div className="mb-3 max-w-page space-y-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink3">
        <span
          className="min-w-0 [overflow-wrap:anywhere]"
          title={at ? exactTime(directory.refreshedAt) : undefined}
        >
          {at
            ? `Registry fetched ${age(directory.refreshedAt, now)} ago from ${address}`
            : 'Showing the built-in list. The registry has not been fetched yet.'}
          {!at && ` ${`Registry: ${address}`}`}
        </span>
        <Button small disabled={refresh.isPending} onClick={() => refresh.mutate()}>
          {refresh.isPending ? (
            <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
          ) : (
            <RefreshCw className="size-3.5" aria-hidden />
          )}
          {refresh.isPending ? 'Fetching… this can take a minute' : 'Fetch registry'}
        </Button>
      </div>
      {refresh.isError && (
        <Note tone="bad" role="alert">
          {escapeControlCharacters(messageOf(refresh.error))} The previous list is kept.
        </Note>
      )}
      {refresh.isSuccess && !refresh.isPending && (
        <p role="status" className="text-sm text-ok">
          {refreshed(count(refresh.data.total))}
        </p>
      )}
    </div>
  );
}
