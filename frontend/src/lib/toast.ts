import { useSyncExternalStore } from 'react';

export interface Toast {
  id: number;
  tone: 'ok' | 'bad';
  text: string;
}

const listeners = new Set<() => void>();
let toasts: Toast[] = [];
let lastId = 0;

function set(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a sentence for a while. Failures stay longer, and the same text is not stacked. */
export function toast(tone: Toast['tone'], text: string): void {
  const id = ++lastId;
  set([...toasts.filter((t) => t.text !== text).slice(-2), { id, tone, text }]);
  setTimeout(() => dismissToast(id), tone === 'bad' ? 9000 : 4000);
}

export function dismissToast(id: number): void {
  set(toasts.filter((t) => t.id !== id));
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
