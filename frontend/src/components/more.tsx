import { texts } from '@/lib/texts';

/** The first texts of a list, and how many it leaves out. */
export const joined = (list: string[], shown: number) =>
  [...list.slice(0, shown), ...(list.length > shown ? [texts.more(list.length - shown)] : [])].join(
    ', ',
  );

/** How many items a limited list leaves out. */
export function More({ of, shown }: { of: number; shown: number }) {
  if (of <= shown) return null;
  return <p className="text-sm text-ink3">{texts.more(of - shown)}</p>;
}

/** The button that shows the rest of a list, or hides it again; nothing if there is no rest. */
export function ShowMore({
  n,
  all,
  onToggle,
}: {
  n: number;
  all: boolean;
  onToggle: (all: boolean) => void;
}) {
  if (n <= 0) return null;
  return (
    <button
      type="button"
      aria-expanded={all}
      onClick={() => onToggle(!all)}
      className="min-h-6 rounded text-accent underline-offset-2 hover:underline"
    >
      {all ? 'Show less' : texts.more(n)}
    </button>
  );
}
