import { useMemo } from 'react';
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
