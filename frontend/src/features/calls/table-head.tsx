// biome-ignore-all lint/a11y/useSemanticElements: a table element would need all rows, not only visible ones
// biome-ignore-all lint/a11y/useFocusableInteractive: the button inside is focusable
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useRef } from 'react';
import { classes } from '@/lib/class-names';
import { texts } from '@/lib/texts';
import {
  bounded,
  type ColumnId,
  type Columns,
  columnWidths,
  narrowest,
  nextSort,
  type Sort,
  sortsOf,
  widest,
} from './call-columns';

const t = texts.calls;
const rising = new Set<Sort>(['oldest', 'shortest', 'smallest']);
const numbers = new Set<ColumnId>(['duration', 'sent', 'size']);

/** The column headings: a click sorts, and dragging the line beside a heading resizes the column. */
export function TableHead({
  columns,
  sort,
  onSort,
  onColumns,
}: {
  columns: Columns;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
  onColumns: (columns: Columns) => void;
}) {
  const call = columns.shown.indexOf('call');
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
        {columns.shown.map((id, index) => {
          const own = sort !== undefined && sortsOf[id]?.includes(sort);
          const newest = id === 'time' && sort === undefined;
          const up = own && rising.has(sort);
          const Arrow = up ? ArrowUp : ArrowDown;
          return (
            <div
              key={id}
              role="columnheader"
              aria-sort={own || newest ? (up ? 'ascending' : 'descending') : undefined}
              className={classes('relative min-w-0 pb-1', numbers.has(id) && 'text-right')}
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
                  <span className="truncate">{t.columns[id]}</span>
                  {(own || newest) && <Arrow className="size-3 shrink-0" aria-hidden />}
                </button>
              ) : (
                <span className="inline-block min-h-6 max-w-full truncate leading-6">
                  {t.columns[id]}
                </span>
              )}
              {id !== 'call' && (
                <WidthHandle
                  id={id}
                  width={columns.widths[id] ?? columnWidths[id]}
                  before={index < call}
                  onChange={(width) =>
                    onColumns({ ...columns, widths: { ...columns.widths, [id]: width } })
                  }
                />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A resize handle, on the side of the call column, which grows or shrinks instead. */
function WidthHandle({
  id,
  width,
  before,
  onChange,
}: {
  id: Exclude<ColumnId, 'call'>;
  width: number;
  before: boolean;
  onChange: (width: number) => void;
}) {
  const from = useRef<{ x: number; width: number } | undefined>(undefined);
  const sign = before ? 1 : -1;
  const rem = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${t.columns[id]}`}
      aria-valuenow={width}
      aria-valuemin={narrowest}
      aria-valuemax={widest}
      title="Drag to resize, double-click to reset"
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) => {
        if (!from.current) return;
        const moved = ((event.clientX - from.current.x) * sign) / rem();
        onChange(bounded(from.current.width + moved));
      }}
      onPointerUp={() => {
        from.current = undefined;
      }}
      onPointerCancel={() => {
        from.current = undefined;
      }}
      onDoubleClick={() => onChange(columnWidths[id])}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -sign, ArrowRight: sign }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        onChange(bounded(width + step / 2));
      }}
      className={classes(
        'absolute inset-y-0 w-3 cursor-col-resize touch-none after:absolute after:inset-y-1 after:left-1/2 after:w-px after:bg-line hover:after:bg-accent focus-visible:after:bg-accent',
        before ? '-right-3' : '-left-3',
      )}
    />
  );
}
