import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { letterScale } from '@/lib/letter-scale';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { Call } from '@/types/api';
import { CallRow, rowHeight, wideColumns } from './call-row';
import type { CallFilters } from './filters';

const wideFrom = 680;
const t = texts.calls;

/** The list, of which only what is in view exists as elements. */
export function CallList({
  calls,
  filters,
  selected,
  onOpen,
  hasOlder,
  isLoadingOlder,
  loadOlder,
  labelOf,
}: {
  calls: Call[];
  filters: CallFilters;
  selected: string | undefined;
  onOpen: (id: string) => void;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  loadOlder: () => void;
  labelOf: (server: string) => string;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setWide(element.clientWidth >= wideFrom);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const height = Math.round(rowHeight * letterScale());
  const rows = useVirtualizer({
    count: calls.length,
    getScrollElement: () => scroller.current,
    // By index, and with a function that stays the same: another one in each rendering would
    // have it lay out a hundred thousand rows anew.
    estimateSize: useCallback(() => height, [height]),
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: every row changes its height
  useEffect(() => rows.measure(), [height]);
  useKeepPlace(scroller, calls, height);

  const items = rows.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasOlder && !isLoadingOlder && lastIndex >= calls.length - 30) loadOlder();
  }, [hasOlder, isLoadingOlder, lastIndex, calls.length, loadOlder]);

  const now = Math.floor(useNow() / 60_000) * 60_000; // rows only need the day
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step || event.metaKey || event.ctrlKey || event.altKey) return;
    const from = (event.target as HTMLElement).dataset.call ?? selected;
    const at = calls.findIndex((call) => call.id === from);
    const next = calls[Math.min(calls.length - 1, Math.max(0, at + step))];
    if (!next) return;
    event.preventDefault();
    rows.scrollToIndex(calls.indexOf(next));
    // At once where it is in view, so that no key press is lost; else when it has been drawn.
    const link = linkOf(scroller.current, next.id);
    if (link) link.focus();
    else requestAnimationFrame(() => linkOf(scroller.current, next.id)?.focus());
    if (selected !== undefined) onOpen(next.id);
  };

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {wide && (
        <div
          aria-hidden
          className={`grid shrink-0 gap-3 border-b px-4 pb-1.5 text-xs text-ink3 md:px-6 ${wideColumns}`}
        >
          <span>{t.columns.time}</span>
          <span>{t.columns.call}</span>
          <span>{t.columns.client}</span>
          <span>{t.columns.outcome}</span>
          <span className="text-right">{t.columns.duration}</span>
          <span className="text-right">{t.columns.size}</span>
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside */}
      <div ref={scroller} className="scroll-area min-h-0 flex-1" onKeyDown={move}>
        <ul aria-label={t.title} className="relative" style={{ height: rows.getTotalSize() }}>
          {items.map((item) => {
            const call = calls[item.index];
            return (
              call && (
                <li
                  key={call.id}
                  aria-setsize={hasOlder ? -1 : calls.length}
                  aria-posinset={item.index + 1}
                  className="absolute inset-x-0 top-0"
                  style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                >
                  <CallRow
                    call={call}
                    wide={wide}
                    selected={call.id === selected}
                    filters={filters}
                    server={labelOf(call.server)}
                    now={now}
                  />
                </li>
              )
            );
          })}
        </ul>
        <p className="py-3 text-center text-xs text-ink3" aria-live="polite">
          {isLoadingOlder ? texts.actions.loadOlder : hasOlder ? '' : t.end}
        </p>
      </div>
    </div>
  );
}

function linkOf(list: HTMLElement | null, id: string): HTMLElement | null | undefined {
  return list?.querySelector<HTMLElement>(`[data-call="${CSS.escape(id)}"]`);
}

/** Rows that come in on top must not push away what somebody reads further down. */
function useKeepPlace(
  scroller: React.RefObject<HTMLDivElement | null>,
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
