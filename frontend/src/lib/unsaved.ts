import { useEffect, useSyncExternalStore } from 'react';

const open = new Set<symbol>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Says, as long as it is so, that leaving here loses what somebody typed. */
export function useUnsaved(edited: boolean): void {
  useEffect(() => {
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

/** Whether anything typed on the page is not saved. */
export function useAnyUnsaved(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open.size > 0,
  );
}
