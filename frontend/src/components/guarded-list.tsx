import {
  type ComponentProps,
  createContext,
  type ReactNode,
  type RefObject,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';

/** How long the buttons of an item ignore clicks after it appeared or moved. */
export const restMs = 700;

const pressable = 'button, [role="button"], [role="switch"], summary';

const MovedItems = createContext<ReadonlySet<string>>(new Set());
const JustMoved = createContext(false);

/** Content that does not move with the item around it. */
export function AtRest({ children }: { children: ReactNode }) {
  return <JustMoved value={false}>{children}</JustMoved>;
}

/** Whether the buttons around have just appeared or moved, so that clicks on them are ignored. */
export const useJustMoved = () => useContext(JustMoved);

/**
 * A list whose items have buttons and can move without the user's doing, for example because an
 * earlier item disappears. A click that was meant for another item must not hit what has just moved
 * under the pointer, so the buttons of such an item ignore the pointer for a moment. The keyboard is
 * not affected, because the focus moves with its button. The children are GuardedItems.
 */
export function GuardedList(props: ComponentProps<'ul'>) {
  const list = useRef<HTMLUListElement>(null);
  const { moved, movedNow, measure } = useMovedItems(list);
  const pressed = useRef(false);
  // After each render, because items can change places without a change of any size.
  useLayoutEffect(measure);
  const isMoving = (target: EventTarget) => {
    if (target instanceof Element && target.closest('dialog')) return false; // it did not move
    measure();
    const item = target instanceof Element && target.closest<HTMLElement>('[data-item]');
    return item !== false && item !== null && movedNow(item.dataset.item ?? '');
  };
  return (
    <MovedItems value={moved}>
      <ul
        {...props}
        ref={list}
        onPointerDownCapture={(event) => {
          pressed.current = isMoving(event.target);
        }}
        onClickCapture={(event) => {
          const byPointer = event.detail > 0;
          const ignored = byPointer && (isMoving(event.target) || pressed.current);
          if (!ignored || !(event.target as Element).closest(pressable)) return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
    </MovedItems>
  );
}

/** An item of a GuardedList. `id` is unique in the list. */
export function GuardedItem({ id, ...rest }: ComponentProps<'li'> & { id: string }) {
  const moved = useContext(MovedItems).has(id);
  return (
    <JustMoved value={moved}>
      <li {...rest} data-item={id} />
    </JustMoved>
  );
}

/** Follows where the items of a list are in what can be scrolled: scrolling does not move them. */
function useMovedItems(list: RefObject<HTMLUListElement | null>) {
  const [moved, setMoved] = useState<ReadonlySet<string>>(new Set());
  const state = useRef({ places: new Map<string, string>(), until: new Map<string, number>() });
  const timer = useRef<number>(undefined);
  const movedNow = useCallback(
    (id: string) => (state.current.until.get(id) ?? 0) > performance.now(),
    [],
  );
  const publish = useCallback(() => {
    const { until } = state.current;
    const now = performance.now();
    const ids = [...until].filter(([, end]) => end > now).map(([id]) => id);
    setMoved((old) =>
      old.size === ids.length && ids.every((id) => old.has(id)) ? old : new Set(ids),
    );
    clearTimeout(timer.current);
    const next = Math.min(...ids.map((id) => until.get(id) ?? 0));
    if (ids.length > 0) timer.current = window.setTimeout(publish, Math.ceil(next - now) + 1);
  }, []);
  const measure = useCallback(() => {
    const { places, until } = state.current;
    const next = placesOf(list.current);
    let changed = false;
    for (const [id, place] of next)
      if (places.get(id) !== place) {
        until.set(id, performance.now() + restMs);
        changed = true;
      }
    for (const id of until.keys()) if (!next.has(id)) until.delete(id);
    state.current.places = next;
    if (changed) publish();
  }, [list, publish]);
  // After each render, because the items may be others. What surrounds the list can move it, too.
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    for (let box: Element | null = list.current; box; box = box.parentElement)
      observer.observe(box);
    for (const item of list.current?.children ?? []) observer.observe(item);
    return () => observer.disconnect();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return { moved, movedNow, measure };
}

function placesOf(list: Element | null): Map<string, string> {
  const places = new Map<string, string>();
  let [scrolledX, scrolledY] = [0, 0]; // now: the event of a scroll arrives later than a click
  for (let box = list; box; box = box.parentElement) {
    scrolledX += box.scrollLeft;
    scrolledY += box.scrollTop;
  }
  for (const item of list?.querySelectorAll<HTMLElement>(':scope > [data-item]') ?? []) {
    const { left, top, width, height } = item.getBoundingClientRect();
    const place = [left + scrolledX, top + scrolledY, width, height].map(Math.round).join(' ');
    places.set(item.dataset.item ?? '', place);
  }
  return places;
}
