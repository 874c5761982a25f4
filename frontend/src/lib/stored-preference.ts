import { useCallback, useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
/** Values that could not be stored, because the browser's storage is disabled or full. */
const unstored = new Map<string, string>();
const read = new Map<string, { text: string | null; value: unknown }>();

function textOf(key: string): string | null {
  const kept = unstored.get(key);
  if (kept !== undefined) return kept;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The value stored in this browser under a key, as `check` reads it; the same object until it changes. */
export function readStored<T>(key: string, check: (value: unknown) => T): T {
  const text = textOf(key);
  const known = read.get(key);
  if (known && known.text === text) return known.value as T;
  let value: unknown;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    value = undefined;
  }
  const checked = check(value);
  read.set(key, { text, value: checked });
  return checked;
}

export function writeStored(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    unstored.delete(key);
  } catch {
    unstored.set(key, text); // kept until the page is closed
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

/** A setting of this browser, the same in all its tabs. `check` converts the stored text to a value. */
export function useStored<T>(key: string, check: (value: unknown) => T) {
  const value = useSyncExternalStore(subscribe, () => readStored(key, check));
  const set = useCallback((value: T) => writeStored(key, value), [key]);
  return [value, set] as const;
}
