import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { joined, More } from '@/components/more';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Profile, ToolMode } from '@/types/api';
import { costQuery } from './api';
import type { Entry } from './profile-entry';

export const modeNames = withoutPrototypes({
  all: 'All',
  search: 'Search',
  deferred: 'Deferred',
  auto: 'Automatic',
} as const);

export const modeNotes = withoutPrototypes({
  all: 'Every tool with its full definition.',
  search: 'Only find_tools and call_tool for each entry, which find and call its tools.',
  deferred: 'Names and one-line descriptions; schemas on request.',
  auto: 'One of these for each client: all if it searches tools by itself or the list is short.',
} as const);

/** What the tool mode auto is for a client, and why. */
export const autoIs = (mode: 'all' | 'search' | 'deferred', why: string) =>
  `Now ${mode === 'all' ? 'all tools' : `by ${mode === 'search' ? 'search' : 'deferred listing'}`}: ${why}`;

/** How many clients have a line. */
const shown = 5;

const saving = (before: number, after: number) =>
  after < before
    ? `, which saves ~${count(before - after)}`
    : after > before
      ? `, ~${count(after - before)} more`
      : '';

/**
 * The tool modes with their costs, and how much the profile saves: for each client that uses it, or else
 * for one that has a single entry for all servers.
 */
export function ModeChoice({
  entry,
  name,
  client,
  overrides,
  everything,
  fault,
  onChange,
}: {
  entry: Entry;
  /** The profile in the file; undefined for a new one. */
  name: string | undefined;
  /** The client that a new profile is for. */
  client: string | undefined;
  /** The tool modes that clients have of their own, by token. */
  overrides: Map<string, ToolMode>;
  everything: Profile | undefined;
  fault: string | undefined;
  onChange: (mode: ToolMode) => void;
}) {
  // The cost of an empty list is not comparable.
  const empty = entry.servers !== undefined && Object.keys(entry.servers).length === 0;
  const { data } = useQuery({ ...costQuery(entry, name, client), enabled: !empty });
  const cost = empty ? undefined : data;
  const group = useId();
  const mode = entry.toolMode ?? 'all';
  const before = everything?.tokens.all ?? 0;
  const clients = cost?.clients ?? [];
  const [first, second] = clients;
  const tokens = first && !second ? first.tokens : cost?.tokens;
  return (
    <fieldset className="@container">
      <legend className="sr-only">Tool listing</legend>
      <div className="grid gap-2 @2xl:grid-cols-3">
        {(['all', 'search', 'deferred', 'auto'] as const).map((one) => (
          <label
            key={one}
            className={classes(
              'flex cursor-pointer items-start gap-2 rounded-lg border p-2.5 text-sm',
              one === mode ? 'border-accent bg-accent-soft' : 'hover:bg-hover',
            )}
          >
            <input
              type="radio"
              name={group}
              checked={one === mode}
              onChange={() => onChange(one)}
              className="mt-0.5 size-4 shrink-0 accent-(--accent)"
            />
            <span className="min-w-0 flex-1">
              <span className="flex flex-wrap items-baseline justify-between gap-x-3">
                <span className="font-medium">{modeNames[one]}</span>
                {tokens && (
                  <span className="text-xs text-ink2" title={texts.tools.tokensHint}>
                    {texts.tools.tokens(count(tokens[one]))}
                  </span>
                )}
              </span>
              <span className="block text-xs text-ink2">
                {one === 'auto' && first && !second
                  ? autoIs(first.auto, escapeControlCharacters(first.reason))
                  : modeNotes[one]}
              </span>
            </span>
          </label>
        ))}
      </div>
      {fault && <p className="mt-1 text-xs text-bad">{escapeControlCharacters(fault)}</p>}
      {first && !second && (
        <p className="mt-1 text-xs text-ink3">
          {`What ${escapeControlCharacters(first.token.slice(0, 100))} would use, by the entries in its file.`}
        </p>
      )}
      {empty && (
        <p className="mt-2 text-sm text-ink2">
          Select servers and tools below to see how many tokens they use.
        </p>
      )}
      <div role="status" className="mt-2 space-y-1 text-sm text-ink2">
        {cost && !first && (
          <p>
            {`A client with one entry for all servers uses ~${count(before)} tokens of its model’s context. With this profile, ~${count(cost.tokens[mode])}${saving(before, cost.tokens[mode])}.`}
          </p>
        )}
        {clients.slice(0, shown).map(({ token, tokens, now, excluded }) => {
          const own = overrides.get(token);
          const after = tokens[own ?? mode];
          const least = Math.min(tokens.search, tokens.deferred);
          return (
            <p key={token} className={after > now ? 'text-warn' : ''}>
              {`${escapeControlCharacters(token.slice(0, 100))} uses ~${count(now)} tokens now. With this profile, ~${count(after)}${saving(now, after)}.`}
              {after > now &&
                least < after &&
                ` ${tokens.deferred === least ? modeNames.deferred : modeNames.search} would use ~${count(least)}.`}
              {own &&
                own !== mode &&
                ` It has its own tool listing, ${modeNames[own]}, which stays.`}
              {excluded.length > 0 && (
                <span className="text-warn">{` It has entries for servers that this profile excludes, and shows errors there: ${escapeControlCharacters(joined(excluded, 5).slice(0, 300))}.`}</span>
              )}
            </p>
          );
        })}
        <More of={clients.length} shown={shown} />
      </div>
    </fieldset>
  );
}
