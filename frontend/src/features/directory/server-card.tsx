import { Link } from '@tanstack/react-router';
import { BadgeCheck, Ban, Check, KeyRound } from 'lucide-react';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters, sentence } from '@/lib/format';
import type { Installable } from '@/types/api';
import { kindOf, publisher, titleOf } from './server-labels';

/** One server as a card; the whole card is a link to its details. */
export function ServerCard({ item, selected }: { item: Installable; selected: boolean }) {
  const kinds = [...new Set(item.options.map((way) => kindOf(way)))];
  const secrets = item.options.some((way) => way.fields.some((f) => f.secret && f.required));
  const refused = item.refused !== '';
  return (
    <li
      className={classes(
        'relative flex min-w-0 flex-col rounded-lg border p-4 transition-colors',
        selected ? 'border-accent bg-accent-soft' : 'bg-panel hover:border-strong',
        refused ? 'border-dashed' : 'shadow-card',
      )}
    >
      <div className="flex items-start gap-2">
        <Link
          to="/directory"
          search={(old) => ({ ...old, name: item.name, file: undefined })}
          aria-current={selected || undefined}
          className="min-w-0 flex-1 font-semibold outline-offset-4 [overflow-wrap:anywhere] after:absolute after:inset-0 after:rounded-lg"
        >
          {escapeControlCharacters(titleOf(item).slice(0, 100))}
        </Link>
        {item.installed.length > 0 && (
          <span className="-my-0.5 flex shrink-0 items-center gap-1 rounded-full bg-ok-soft px-2 py-0.5 text-xs font-medium text-ok">
            <Check className="size-3.5" aria-hidden />
            Installed
          </span>
        )}
      </div>
      <p className="flex items-center gap-1 text-xs text-ink3 [overflow-wrap:anywhere]">
        {escapeControlCharacters(publisher(item.name))}
        {item.curated && (
          <>
            <BadgeCheck className="size-3.5 shrink-0 text-accent" aria-hidden />
            <span className="sr-only">built-in list</span>
          </>
        )}
      </p>
      {refused ? (
        <p className="mt-2 line-clamp-3 text-sm text-warn [overflow-wrap:anywhere]">
          <Ban className="mr-1.5 inline size-4 align-text-bottom" aria-hidden />
          {escapeControlCharacters(sentence(item.refused.slice(0, 400)))}
        </p>
      ) : (
        <p className="mt-2 line-clamp-3 text-sm text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(item.description.slice(0, 400))}
        </p>
      )}
      {kinds.length > 0 && (
        <p className="mt-auto flex flex-wrap items-center gap-1.5 pt-3 text-xs text-ink2">
          {kinds.map((kind) => (
            <span key={kind} className="rounded bg-sunken px-1.5 py-0.5">
              {kind}
            </span>
          ))}
          {secrets && (
            <span className="flex items-center gap-1 text-ink3">
              <KeyRound className="size-3.5" aria-hidden />
              requires a key
            </span>
          )}
        </p>
      )}
    </li>
  );
}
