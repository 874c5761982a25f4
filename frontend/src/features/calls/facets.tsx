import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DateTimeField } from '@/components/date-time-field';
import { ShowMore } from '@/components/more';
import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { ranges } from '@/lib/time-range';
import type { Facet } from '@/types/api';
import { facetsQuery } from './api';
import { type CallFilters, failures, outcomeText, seekRedacted, seeksRedacted } from './filters';

const slowerThanTexts = withoutPrototypes({
  '100': '> 0.1 s',
  '1000': '> 1 s',
  '10000': '> 10 s',
} as const);

const few = 8;
/** With a search text, the daemon counts only this many of the newest matches. */
const sampled = 10_000;

/** The filters, with the number of calls for each value. */
export function FacetPanel({
  filters,
  onChange,
}: {
  filters: CallFilters;
  onChange: (change: CallFilters) => void;
}) {
  const labelOf = useServerName();
  const { data, isError } = useQuery(facetsQuery(filters));
  const failed = (data?.outcomes ?? [])
    .filter(({ value }) => failures.includes(value))
    .reduce((sum, { calls }) => sum + calls, 0);
  const outcomes: Facet[] = [
    ...(failed > 0 ? [{ value: 'failed', calls: failed }] : []),
    ...(data?.outcomes ?? []),
  ];
  const found = [outcomes, data?.servers, data?.tools, data?.clients].some((facets) =>
    facets?.some(({ calls }) => calls > 0),
  );
  return (
    <ScrollArea
      aria-label="Filters"
      className="h-full space-y-4 pt-1 pr-3 pb-6 pl-[1.125rem] text-sm"
    >
      <TimeFilter filters={filters} onChange={onChange} />
      <Group
        title="Outcome"
        values={outcomes}
        text={({ value }) => outcomeText(value)}
        chosen={filters.outcome}
        onChange={(outcome) => onChange({ outcome })}
      />
      <Group
        title="Errors by message"
        values={data?.errors}
        text={({ value }) => value}
        chosen={undefined}
        onChange={(q, facet) => onChange({ q: facet?.search ?? q })}
      />
      <Group
        title="Server"
        values={data?.servers}
        text={({ value }) => labelOf(value)}
        chosen={filters.server}
        onChange={(server) => onChange({ server, tool: undefined })}
      />
      <Group
        title="Tool"
        values={data?.tools}
        // Several servers can have a tool with the same name.
        text={({ value, server }) =>
          server && (data?.tools ?? []).filter((one) => one.value === value).length > 1
            ? `${labelOf(server)} / ${value}`
            : value
        }
        chosen={filters.tool}
        onChange={(tool, facet) =>
          onChange({ tool, ...(tool && facet?.server ? { server: facet.server } : {}) })
        }
      />
      <Group
        title="Client"
        values={data?.clients}
        text={({ value }) => value || texts.calls.unknownClient}
        chosen={filters.client}
        onChange={(client) => onChange({ client })}
      />
      <SlowFilter filters={filters} onChange={onChange} />
      <fieldset>
        <legend className="mb-1 px-1.5 text-xs font-semibold text-ink3">Secrets</legend>
        <div className="px-1.5">
          <Pill
            on={seeksRedacted(filters)}
            onClick={() => onChange({ q: seekRedacted(filters, !seeksRedacted(filters)) })}
          >
            Redacted
          </Pill>
        </div>
      </fieldset>
      <p className="px-1.5 text-xs text-ink3" role="status">
        {isError
          ? 'Cannot load the counts.'
          : data === undefined
            ? texts.loading
            : !found
              ? 'No calls.'
              : data.newest
                ? data.newest < sampled
                  ? 'Counts of all matches.'
                  : `Counts of the newest ${count(data.newest)} matches.`
                : 'Only finished calls are counted. The time range is rounded to hours, or to minutes within the last 48 hours.'}
      </p>
    </ScrollArea>
  );
}

/** A filter from a link can have a value without calls; it is still shown as an option. */
function missing(values: Facet[] | undefined, chosen: string | undefined): Facet[] {
  if (!chosen || !values || values.some((facet) => facet.value === chosen)) return [];
  return [{ value: chosen, calls: 0 }];
}

function Group({
  title,
  values = [],
  text,
  chosen,
  onChange,
}: {
  title: string;
  values: Facet[] | undefined;
  text: (facet: Facet) => string;
  chosen: string | undefined;
  onChange: (value: string | undefined, facet?: Facet) => void;
}) {
  const [all, setAll] = useState(false);
  const named = [...values, ...missing(values, chosen)].filter((facet) => facet.value !== '');
  if (named.length === 0) return null;
  const at = named.findIndex((facet) => facet.value === chosen);
  const shown = all ? named : named.filter((_, index) => index < few || index === at);
  return (
    <fieldset>
      <legend className="mb-1 px-1.5 text-xs font-semibold text-ink3">{title}</legend>
      <ul>
        {shown.map((facet) => {
          const on = facet.value === chosen;
          return (
            <li key={`${facet.server ?? ''}/${facet.value}`}>
              <button
                type="button"
                aria-pressed={on}
                title={escapeControlCharacters(facet.value.slice(0, 300))}
                onClick={() => onChange(on ? undefined : facet.value, facet)}
                className={classes(
                  'flex w-full items-baseline gap-2 rounded-md px-1.5 py-[3px] text-left outline-offset-[-2px]',
                  on ? 'bg-accent-soft font-medium text-accent' : 'text-ink2 hover:bg-hover',
                )}
              >
                <span className="min-w-0 flex-1 truncate">
                  {escapeControlCharacters(text(facet).slice(0, 120))}
                </span>
                <span className="shrink-0 text-xs text-ink3">{count(facet.calls)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      <div className="mt-0.5 px-1.5 text-xs">
        <ShowMore n={named.length - few} all={all} onToggle={setAll} />
      </div>
    </fieldset>
  );
}

function TimeFilter({
  filters,
  onChange,
}: {
  filters: CallFilters;
  onChange: (change: CallFilters) => void;
}) {
  const own = filters.from !== undefined || filters.to !== undefined;
  const [open, setOpen] = useState(own);
  const choose = (change: CallFilters) =>
    onChange({ range: undefined, from: undefined, to: undefined, ...change });
  return (
    <fieldset>
      <legend className="mb-1 px-1.5 text-xs font-semibold text-ink3">Time</legend>
      <div className="flex flex-wrap gap-1 px-1.5">
        {ranges.map((range) => (
          <Pill
            key={range}
            on={filters.range === range}
            onClick={() => choose({ range: filters.range === range ? undefined : range })}
          >
            {texts.ranges[range]}
          </Pill>
        ))}
        <Pill on={own} onClick={() => setOpen((on) => !on)} expanded={open}>
          Custom range
        </Pill>
      </div>
      {open && (
        <div className="mt-2 space-y-1.5 px-0.5">
          <DateTimeField
            label="From"
            value={filters.from}
            onChange={(from) => choose({ from, to: filters.to })}
          />
          <DateTimeField
            label="To"
            value={filters.to}
            onChange={(to) => choose({ from: filters.from, to })}
          />
        </div>
      )}
    </fieldset>
  );
}

function SlowFilter({
  filters,
  onChange,
}: {
  filters: CallFilters;
  onChange: (change: CallFilters) => void;
}) {
  return (
    <fieldset>
      <legend className="mb-1 px-1.5 text-xs font-semibold text-ink3">Duration</legend>
      <div className="flex flex-wrap gap-1 px-1.5">
        {(['100', '1000', '10000'] as const).map((ms) => (
          <Pill
            key={ms}
            on={filters.slow === ms}
            onClick={() => onChange({ slow: filters.slow === ms ? undefined : ms })}
          >
            {slowerThanTexts[ms]}
          </Pill>
        ))}
      </div>
    </fieldset>
  );
}

function Pill({
  on,
  onClick,
  expanded,
  children,
}: {
  on: boolean;
  onClick: () => void;
  expanded?: boolean;
  children: string;
}) {
  return (
    <button
      type="button"
      aria-pressed={on}
      aria-expanded={expanded}
      onClick={onClick}
      className={classes(
        'rounded-full border px-2 py-0.5 text-xs',
        on
          ? 'border-accent bg-accent-soft font-medium text-accent'
          : 'border-strong text-ink2 hover:bg-hover',
      )}
    >
      {children}
    </button>
  );
}
