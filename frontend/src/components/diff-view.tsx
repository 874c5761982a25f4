import { useMemo } from 'react';
import { MergeDiff } from '@/components/code';

/** A unified diff, as the daemon sends it. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  const { before, after } = useMemo(() => sidesOf(diff), [diff]);
  return <MergeDiff before={before} after={after} label={label} />;
}

/** The parts of both texts that a unified diff contains. The headings of its hunks are in both. */
export function sidesOf(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  diff
    .replace(/\n$/, '')
    .split('\n')
    .forEach((line, index) => {
      const sign = line.charAt(0);
      if ((index < 2 && /^(\+\+\+|---) /.test(line)) || sign === '\\') return;
      const text = sign === '@' ? line : line.slice(1);
      if (sign !== '+') before.push(text);
      if (sign !== '-') after.push(text);
    });
  return { before: before.join('\n'), after: after.join('\n') };
}
