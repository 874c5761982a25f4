// biome-ignore-all lint/a11y/useSemanticElements: a table element would need all rows, not only visible ones
// biome-ignore-all lint/a11y/useFocusableInteractive: the button inside is focusable
import { ArrowDown, ArrowUp } from 'lucide-react';
import { classes } from '@/lib/class-names';
import { type ColumnId, columnNames, nextSort, type Sort, sortsOf } from './call-columns';

const rising = new Set<Sort>(['oldest', 'shortest', 'smallest']);
const numbers = new Set<ColumnId>(['duration', 'sent', 'size']);

/** The column headings; a click sorts. */
export function TableHead({
  columns,
  sort,
  onSort,
}: {
  columns: ColumnId[];
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
}) {
  return (
    // As wide as the rows, which have a scrollbar.
    <div
      role="rowgroup"
      className="shrink-0 overflow-hidden border-b px-4 [scrollbar-gutter:stable] [scrollbar-width:thin] md:px-6"
    >
      <div
        role="row"
        className="grid gap-x-3 text-xs text-ink3 [grid-template-columns:var(--call-columns)]"
      >
        {columns.map((id) => {
          const own = sort !== undefined && sortsOf[id]?.includes(sort);
          const newest = id === 'time' && sort === undefined;
          const up = own && rising.has(sort);
          const Arrow = up ? ArrowUp : ArrowDown;
          return (
            <div
              key={id}
              role="columnheader"
              aria-sort={own || newest ? (up ? 'ascending' : 'descending') : undefined}
              className={classes('min-w-0 pb-1', numbers.has(id) && 'text-right')}
            >
              {sortsOf[id] ? (
                <button
                  type="button"
                  title="Sort by this column"
                  onClick={() => onSort(nextSort(id, sort))}
                  className={classes(
                    'inline-flex min-h-6 max-w-full items-center gap-1 rounded-sm hover:text-ink',
                    (own || newest) && 'font-medium text-ink',
                  )}
                >
                  <span className="truncate">{columnNames[id]}</span>
                  {(own || newest) && <Arrow className="size-3 shrink-0" aria-hidden />}
                </button>
              ) : (
                <span className="inline-block min-h-6 max-w-full truncate leading-6">
                  {columnNames[id]}
                </span>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
