import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Profile, ToolMode } from '@/types/api';
import { costQuery } from './api';
import type { Entry } from './profile-entry';

/** The three tool modes with their costs, and how much the profile saves. */
export function ModeChoice({
  entry,
  everything,
  fault,
  onChange,
}: {
  entry: Entry;
  everything: Profile | undefined;
  fault: string | undefined;
  onChange: (mode: ToolMode) => void;
}) {
  // The cost of an empty list is not comparable.
  const empty = entry.servers !== undefined && Object.keys(entry.servers).length === 0;
  const { data } = useQuery({ ...costQuery(entry), enabled: !empty });
  const cost = empty ? undefined : data;
  const group = useId();
  const mode = entry.toolMode ?? 'all';
  const before = everything?.tokens.all ?? 0;
  const after = cost?.tokens[mode];
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
                <span className="font-medium">{texts.profiles.modes[one]}</span>
                {cost && (
                  <span className="text-xs text-ink2" title={texts.tools.tokensHint}>
                    {texts.tools.tokens(count(cost.tokens[one]))}
                  </span>
                )}
              </span>
              <span className="block text-xs text-ink2">{texts.profiles.modeNotes[one]}</span>
            </span>
          </label>
        ))}
      </div>
      {fault && <p className="mt-1 text-xs text-bad">{escapeControlCharacters(fault)}</p>}
      {empty && (
        <p className="mt-2 text-sm text-ink2">
          Select servers and tools below to see how many tokens they use.
        </p>
      )}
      {after !== undefined && (
        <p role="status" className="mt-2 text-sm text-ink2">
          {`Together, the tools from all servers use ~${count(before)} tokens of each model’s context.`}{' '}
          {`This profile uses ~${count(after)} tokens${after < before ? ` and saves ~${count(before - after)}` : ' and saves nothing'}.`}
        </p>
      )}
    </fieldset>
  );
}
