// biome-ignore-all lint/a11y/useAriaPropsSupportedByRole: narrow lists have no table role and attributes
// biome-ignore-all lint/a11y/useSemanticElements: a table element would need all rows, not only visible ones
// biome-ignore-all lint/a11y/useFocusableInteractive: the link inside is focusable

import { useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { measureFontScale } from '@/lib/measure-font-scale';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import type { useReading } from '@/lib/steady-list';
import type { Call } from '@/types/api';
import { type ColumnId, gridOf, type Sort } from './call-columns';
import { CallRow, rowHeight } from './call-row';
import type { CallFilters } from './filters';
import { TableHead } from './table-head';

const wideFrom = 680;

/** The list of calls; only the visible rows are rendered. */
export function CallList({
  calls,
  filters,
  sort,
  columns,
  onSort,
  selected,
  onOpen,
  hasOlder,
  isLoadingOlder,
  loadOlder,
  scroller,
  reader,
}: {
  calls: Call[];
  filters: CallFilters;
  /** The sort order; undefined is newest first. */
  sort: Sort | undefined;
  columns: ColumnId[];
  onSort: (sort: Sort | undefined) => void;
  selected: string | undefined;
  onOpen: (id: string) => void;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  loadOlder: () => void;
  scroller: RefObject<HTMLDivElement | null>;
  /** The handlers that notice whether the list is being read. */
  reader: ReturnType<typeof useReading>['props'];
}) {
  const labelOf = useServerName();
  const picking = useSearch({ strict: false }).with === 'pick'; // another call to compare with
  const [wide, setWide] = useState(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setWide(element.clientWidth >= wideFrom);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller]);

  const height = Math.round(rowHeight * measureFontScale());
  const rows = useVirtualizer({
    count: calls.length,
    getScrollElement: () => scroller.current,
    // A stable function: a new one in each rendering would recalculate the layout of up to a
    // hundred thousand rows.
    estimateSize: useCallback(() => height, [height]),
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height of all rows changes
  useEffect(() => rows.measure(), [height]);
  useKeepPlace(scroller, calls, height);
  // Beside an open call the list starts lower, which could move its last row out of view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the width determines where the list starts
  useEffect(() => {
    if (selected) linkOf(scroller.current, selected)?.scrollIntoView({ block: 'nearest' });
  }, [selected, wide]);

  const items = rows.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    // Only in the default order: in another one, older calls would be inserted between the rows.
    const end = lastIndex >= calls.length - 30 && sort === undefined;
    if (hasOlder && !isLoadingOlder && end) loadOlder();
  }, [hasOlder, isLoadingOlder, lastIndex, calls.length, loadOlder, sort]);

  const now = Math.floor(useNow() / 60_000) * 60_000; // rows only need the day
  const move = (event: KeyboardEvent | globalThis.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step || event.metaKey || event.ctrlKey || event.altKey) return;
    const from = (event.target as HTMLElement).dataset.call ?? selected;
    const at = calls.findIndex((call) => call.id === from);
    const next = calls[Math.min(calls.length - 1, Math.max(0, at + step))];
    if (!next) return;
    event.preventDefault();
    rows.scrollToIndex(calls.indexOf(next));
    // Immediately if it is rendered, so that no key press is lost; otherwise after the rendering.
    const link = linkOf(scroller.current, next.id);
    if (link) link.focus();
    else requestAnimationFrame(() => linkOf(scroller.current, next.id)?.focus());
    if (selected !== undefined && !picking) onOpen(next.id);
  };
  // Without the focus in the list, too: nothing else on the page uses these keys then.
  const latestMove = useRef(move);
  latestMove.current = move;
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      const at = document.activeElement;
      if (at === document.body || at?.id === 'main' || at?.id === 'detail-title')
        latestMove.current(event);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);

  return (
    <div
      role={wide ? 'table' : undefined}
      aria-label={wide ? 'Calls' : undefined}
      aria-rowcount={wide ? (hasOlder ? -1 : calls.length + 1) : undefined}
      className="flex min-h-0 flex-1 flex-col"
      style={{ '--call-columns': gridOf(columns) } as React.CSSProperties}
    >
      {wide && <TableHead columns={columns} sort={sort} onSort={onSort} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside */}
      <div
        ref={scroller}
        className="scroll-area min-h-0 flex-1 [scrollbar-gutter:stable]"
        onKeyDown={move}
        {...reader}
      >
        <div
          role={wide ? 'rowgroup' : 'list'}
          aria-label="Calls"
          className="relative"
          style={{ height: rows.getTotalSize() }}
        >
          {items.map((item) => {
            const call = calls[item.index];
            return (
              call && (
                <div
                  key={call.id}
                  data-row
                  role={wide ? 'row' : 'listitem'}
                  aria-rowindex={wide ? item.index + 2 : undefined}
                  aria-setsize={wide ? undefined : hasOlder ? -1 : calls.length}
                  aria-posinset={wide ? undefined : item.index + 1}
                  className="absolute inset-x-0 top-0"
                  style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                >
                  <CallRow
                    call={call}
                    columns={wide ? columns : undefined}
                    selected={call.id === selected}
                    comparedWith={picking ? selected : undefined}
                    filters={filters}
                    sort={sort}
                    server={labelOf(call.server)}
                    now={now}
                  />
                </div>
              )
            );
          })}
        </div>
        <div role={wide ? 'row' : undefined}>
          <p
            role={wide ? 'cell' : undefined}
            className="py-3 text-center text-xs text-ink3"
            aria-live="polite"
          >
            {isLoadingOlder ? 'Loading older calls…' : hasOlder ? '' : 'End of history'}
          </p>
        </div>
      </div>
    </div>
  );
}

function linkOf(list: HTMLElement | null, id: string): HTMLElement | null | undefined {
  return list?.querySelector<HTMLElement>(`[data-call="${CSS.escape(id)}"]`);
}

/** Keeps the scroll position when rows are added at the top. */
function useKeepPlace(
  scroller: RefObject<HTMLDivElement | null>,
  calls: Call[],
  height: number,
): void {
  const top = useRef<string | undefined>(undefined);
  const first = calls[0]?.id;
  useLayoutEffect(() => {
    const element = scroller.current;
    const before = top.current;
    top.current = first;
    if (!element || !before || before === first || element.scrollTop < height) return;
    const added = calls.findIndex((call) => call.id === before);
    if (added > 0) element.scrollTop += added * height;
  }, [first, calls, height, scroller]);
}
