import { useLayoutEffect, useSyncExternalStore } from 'react';

const open = new Set<symbol>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Registers, while `edited` is true, that leaving the page would lose typed text. */
export function useUnsaved(edited: boolean): void {
  // In the layout phase: there must be no question about text that was just saved.
  useLayoutEffect(() => {
    if (!edited) return;
    const mine = Symbol();
    open.add(mine);
    tell();
    return () => {
      open.delete(mine);
      tell();
    };
  }, [edited]);
}

/** Whether the page has unsaved text now. */
export function anyUnsaved(): boolean {
  return open.size > 0;
}

/** The same as a hook. */
export function useAnyUnsaved(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, anyUnsaved);
}
