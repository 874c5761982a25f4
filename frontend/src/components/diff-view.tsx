import { useMemo } from 'react';
import { MergeDiff } from '@/components/lazy-code-editor';

/** A unified diff from the daemon. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  const { before, after } = useMemo(() => sidesOf(diff), [diff]);
  return <MergeDiff before={before} after={after} label={label} />;
}

/**
 * The parts of both texts that a unified diff contains. The headings of its hunks are in both, and
 * the paths if it contains several files.
 */
export function sidesOf(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  const lines = diff.replace(/\n$/, '').split('\n');
  const isHeader = (at: number) =>
    /^--- /.test(lines[at] ?? '') &&
    /^\+\+\+ /.test(lines[at + 1] ?? '') &&
    (at === 0 || /^@@ /.test(lines[at + 2] ?? ''));
  const several = lines.filter((_, at) => isHeader(at)).length > 1;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const sign = line.charAt(0);
    if (isHeader(at)) {
      at++;
      if (!several) continue;
      const path = (lines[at] ?? '').slice(4);
      before.push(path);
      after.push(path);
      continue;
    }
    if (sign === '\\') continue;
    const text = sign === '@' ? line : line.slice(1);
    if (sign !== '+') before.push(text);
    if (sign !== '-') after.push(text);
  }
  return { before: before.join('\n'), after: after.join('\n') };
}
