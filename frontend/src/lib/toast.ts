import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';

/** A button on a toast, mostly one that takes back what was just done. */
export interface ToastAction {
  text: string;
  run: () => unknown;
}

export interface Toast {
  id: number;
  tone: 'ok' | 'bad';
  text: string;
  action?: ToastAction;
}

const listeners = new Set<() => void>();
let toasts: Toast[] = [];
let lastId = 0;
/** While somebody points at one, or has the focus in it, none of them goes. */
let held = false;
const late = new Set<number>();

function set(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const shownMs = (tone: Toast['tone'], action: ToastAction | undefined) =>
  action ? 12_000 : tone === 'bad' ? 9000 : 4000;

/**
 * Shows a sentence for a while. Failures stay longer, and longest what can be taken back;
 * the same text is not stacked.
 */
export function toast(tone: Toast['tone'], text: string, action?: ToastAction): number {
  const id = ++lastId;
  set([...toasts.filter((t) => t.text !== text).slice(-2), { id, tone, text, action }]);
  setTimeout(
    () => {
      if (held) late.add(id);
      else dismissToast(id);
    },
    shownMs(tone, action),
  );
  return id;
}

/** Like toast, for what can be taken back only while this part of the page is there. */
export function useLocalToast(): typeof toast {
  const last = useRef(0);
  useEffect(() => () => dismissToast(last.current), []);
  return useCallback((tone, text, action) => {
    last.current = toast(tone, text, action);
    return last.current;
  }, []);
}

/** Keeps what is shown as long as somebody is about to act on it. */
export function holdToasts(yes: boolean): void {
  held = yes;
  if (yes) return;
  for (const id of late) dismissToast(id);
  late.clear();
}

export function dismissToast(id: number): void {
  set(toasts.filter((t) => t.id !== id));
  if (toasts.length === 0) held = false; // what was pointed at is gone, and says nothing any more
}

export function useToasts(): Toast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
}
