import { type FocusEvent, type PointerEvent, type UIEvent, useMemo, useRef, useState } from 'react';

/** Whether a list is being read: the pointer or the focus is in it, or it is scrolled. */
export function useReading() {
  const [pointer, setPointer] = useState(false);
  const [focus, setFocus] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  return {
    reading: pointer || focus || scrolled,
    props: {
      onPointerEnter: ({ pointerType }: PointerEvent) => setPointer(pointerType === 'mouse'),
      onPointerLeave: () => setPointer(false),
      onFocus: ({ target }: FocusEvent) => setFocus(target.matches(':focus-visible')),
      onBlur: () => setFocus(false),
      onScroll: ({ currentTarget }: UIEvent) => setScrolled(currentTarget.scrollTop > 0),
    },
  };
}

/**
 * A list that does not move while it is read: each item stays in its place and is shown as it is now,
 * items that come after the last one follow, and new ones are only counted until `show` is called.
 * A list with another key is another list.
 */
export function useHeldList<T>(
  items: T[],
  idOf: (item: T) => string,
  reading: boolean,
  key: unknown,
): { shown: T[]; newer: number; show: () => void } {
  const held = useRef({ items, key });
  const [shows, setShows] = useState(0);
  const holds = reading && held.current.key === key && held.current.items.length > 0;
  if (!holds) held.current = { items, key };
  const kept = held.current.items;
  const { shown, newer } = useMemo(() => {
    if (kept === items) return { shown: items, newer: 0 };
    return heldItems(kept, items, idOf);
  }, [kept, items, idOf]);
  return {
    shown,
    newer,
    show: () => {
      held.current = { items: [], key };
      setShows(shows + 1);
    },
  };
}

export function heldItems<T>(
  kept: T[],
  items: T[],
  idOf: (item: T) => string,
): { shown: T[]; newer: number } {
  const places = placesOf(kept, idOf);
  const shown = [...kept];
  let unknown: T[] = [];
  let newer = 0;
  for (const item of items) {
    const at = places.get(idOf(item));
    if (at === undefined) unknown.push(item);
    else {
      shown[at] = item;
      newer += unknown.length;
      unknown = [];
    }
  }
  // Without a known item, the list has been read too far back to tell: all are newer.
  if (newer === 0 && unknown.length === items.length) return { shown, newer: unknown.length };
  return { shown: shown.concat(unknown), newer };
}

const indexes = new WeakMap<object, Map<string, number>>();

/** The places of the items of a list, which can be long and is held for a while. */
function placesOf<T>(list: T[], idOf: (item: T) => string): Map<string, number> {
  const places = indexes.get(list) ?? new Map(list.map((item, i) => [idOf(item), i]));
  indexes.set(list, places);
  return places;
}

/** Items that keep their order while they are read; new ones follow at the end. Another key sorts anew. */
export function useSteadyOrder<T>(
  items: T[],
  idOf: (item: T) => string,
  reading: boolean,
  key: unknown,
): T[] {
  const before = useRef({ key, places: new Map<string, number>() });
  const place = (item: T) => before.current.places.get(idOf(item)) ?? Number.POSITIVE_INFINITY;
  const keeps = reading && before.current.key === key;
  const sorted = keeps ? items.toSorted((a, b) => place(a) - place(b) || 0) : items;
  before.current = { key, places: new Map(sorted.map((item, i) => [idOf(item), i])) };
  return sorted;
}
