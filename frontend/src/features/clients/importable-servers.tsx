import { useQuery } from '@tanstack/react-query';
import { Failure } from '@/components/failure';
import { Loading } from '@/components/page';
import { escapeControlCharacters } from '@/lib/format';
import { importableQuery } from './api';

/** The servers of a client, to move all or a selection; `chosen` undefined means all. */
export function Importable({
  connection,
  chosen,
  onChange,
}: {
  connection: string;
  chosen: string[] | undefined;
  onChange: (chosen: string[] | undefined) => void;
}) {
  const { data, error, isPending } = useQuery(importableQuery(connection));
  if (isPending) return <Loading />;
  if (error) return <Failure error={error} />;
  if (data.length === 0)
    return <p className="text-sm text-ink3">This client has no servers of its own.</p>;
  const possible = data.filter((one) => !one.skipReason).map((one) => one.name);
  const taken = new Set(chosen ?? possible);
  const toggle = (name: string) => {
    const next = possible.filter((one) => (one === name ? !taken.has(one) : taken.has(one)));
    onChange(next.length === possible.length ? undefined : next);
  };
  return (
    <ul aria-label="Servers to move" className="overflow-hidden rounded-md border">
      {data.map((one) => (
        <li
          key={`${one.scope}/${one.name}`}
          className="border-t px-3 py-2 text-sm first:border-t-0"
        >
          <label className="flex items-start gap-2.5">
            <input
              type="checkbox"
              disabled={one.skipReason !== ''}
              checked={!one.skipReason && taken.has(one.name)}
              onChange={() => toggle(one.name)}
              className="mt-0.5 size-4 shrink-0 accent-(--accent)"
            />
            <span className="min-w-0 flex-1">
              <span className="font-medium [overflow-wrap:anywhere]">
                {escapeControlCharacters(one.name.slice(0, 120))}
              </span>
              {one.label !== one.name && (
                <span className="text-ink3">
                  {' '}
                  → {escapeControlCharacters(one.label.slice(0, 120))}
                </span>
              )}
              {one.exists && <span className="ml-2 text-xs text-ok">already added</span>}
              {(one.alsoIn ?? []).length > 0 && (
                <span className="ml-2 text-xs text-warn">
                  {`also in ${(one.alsoIn ?? []).map((name) => escapeControlCharacters(name)).join(', ')}`}
                </span>
              )}
              <code className="mt-0.5 block truncate font-mono text-xs text-ink3">
                {escapeControlCharacters(one.entry.replace(/\s+/g, ' ').slice(0, 400))}
              </code>
              {[one.skipReason, ...(one.notes ?? [])].filter(Boolean).map((note) => (
                <span key={note} className="block text-xs text-warn [overflow-wrap:anywhere]">
                  {escapeControlCharacters(note.slice(0, 400))}
                </span>
              ))}
              {(one.secrets ?? []).length > 0 && (
                <span className="block text-xs text-ink3">
                  {`Stored as secrets: ${(one.secrets ?? []).map((name) => escapeControlCharacters(name)).join(', ')}`}
                </span>
              )}
            </span>
          </label>
        </li>
      ))}
    </ul>
  );
}
