import { ArrowDown, ArrowUp } from 'lucide-react';
import { classes } from '@/lib/class-names';

/** The head of a column with a button that sorts by it. */
export function SortButton({
  text,
  sorted,
  className,
  onSort,
}: {
  text: string;
  sorted: 'ascending' | 'descending' | false;
  className?: string;
  onSort: () => void;
}) {
  const Arrow = sorted === 'ascending' ? ArrowUp : ArrowDown;
  return (
    <th scope="col" aria-sort={sorted || undefined} className={classes('py-1.5', className)}>
      <button
        type="button"
        onClick={onSort}
        className="inline-flex min-h-6 items-center gap-1 text-xs font-medium whitespace-nowrap text-ink3 hover:text-ink"
      >
        {text}
        {sorted && <Arrow className="size-3" aria-hidden />}
      </button>
    </th>
  );
}
