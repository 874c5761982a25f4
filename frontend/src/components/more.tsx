import { texts } from '@/lib/texts';

/** The first texts of a list, and how many it leaves out. */
export const joined = (list: string[], shown: number) =>
  [
    ...list.slice(0, shown),
    ...(list.length > shown ? [texts.problems.more(list.length - shown)] : []),
  ].join(', ');

/** How many items a limited list leaves out. */
export function More({ of, shown }: { of: number; shown: number }) {
  if (of <= shown) return null;
  return <p className="text-sm text-ink3">{texts.problems.more(of - shown)}</p>;
}
