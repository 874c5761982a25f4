import { useMemo, useState } from 'react';
import { MergeDiff, UnifiedDiff } from '@/components/lazy-code-editor';
import { escapeControlCharacters } from '@/lib/format';
import { parseUnifiedDiff } from '@/lib/unified-diff';

/** A unified diff from the daemon, line by line. Several files have one diff each, with its path. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  const files = useMemo(() => parseUnifiedDiff(diff), [diff]);
  const [only] = files;
  if (files.length === 1 && only) return <UnifiedDiff lines={only.lines} label={label} />;
  return (
    <ul className="space-y-3">
      {files.map(({ path, lines }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a file may occur twice
        <li key={at}>
          <p className="mb-1.5 font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
            {escapeControlCharacters(path)}
          </p>
          <UnifiedDiff lines={lines} label={`${label}: ${escapeControlCharacters(path)}`} />
        </li>
      ))}
    </ul>
  );
}

/** A diff that is shown when it is asked for, with the number of its lines. */
export function FoldedDiff({ diff, label, of }: { diff: string; label: string; of: string }) {
  const [open, setOpen] = useState(false);
  const lines = useMemo(() => parseUnifiedDiff(diff).flatMap((file) => file.lines), [diff]);
  const n = (kind: 'added' | 'removed') => lines.filter((line) => line.kind === kind).length;
  return (
    <details className="mt-1" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="w-fit cursor-pointer text-sm text-ink2">
        Show changes<span className="sr-only"> for {of}</span>{' '}
        <span className="text-ink3">{`+${n('added')} −${n('removed')} lines`}</span>
      </summary>
      {open && (
        <div className="mt-1.5">
          <DiffView diff={diff} label={label} />
        </div>
      )}
    </details>
  );
}

/**
 * The one hunk of a diff that contains everything between the first and the last difference of a
 * file: only what differs within it is shown as a change.
 */
export function HunkDiff({ diff, label }: { diff: string; label: string }) {
  const lines = useMemo(() => parseUnifiedDiff(diff).flatMap((file) => file.lines), [diff]);
  const side = (without: 'removed' | 'added') =>
    lines
      .filter((line) => line.kind !== without)
      .map((line) => line.text)
      .join('\n');
  return <MergeDiff before={side('added')} after={side('removed')} label={label} />;
}
