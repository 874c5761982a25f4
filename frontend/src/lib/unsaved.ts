import { useLayoutEffect, useSyncExternalStore } from 'react';

const open = new Set<symbol>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Says, as long as it is so, that leaving here loses what somebody typed. */
export function useUnsaved(edited: boolean): void {
  // With the drawing and not after it: what was saved a moment ago must not be asked about.
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

/** Whether anything typed on the page is not saved, at this moment. */
export function anyUnsaved(): boolean {
  return open.size > 0;
}

/** The same, for what is drawn by it. */
export function useAnyUnsaved(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, anyUnsaved);
}
