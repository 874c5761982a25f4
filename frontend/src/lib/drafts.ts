import { useEffect, useRef, useState } from 'react';
import { maskSecrets } from './mask-secrets';

const prefix = 'draft:';
/** Longer texts are not stored, and with more drafts the oldest is deleted. */
const longest = 200_000;
const most = 20;

interface Kept<T> {
  at: number;
  value: T;
}

/** The unsaved text at a path. */
export function readDraft<T>(place: string): T | undefined {
  try {
    const text = sessionStorage.getItem(prefix + place);
    return text === null ? undefined : (JSON.parse(text) as Kept<T>).value;
  } catch {
    return undefined;
  }
}

/**
 * Stores the text typed at a path while the tab exists, or deletes it if value is undefined. A text
 * with a secret is not stored: the storage of the browser is on the disk.
 */
export function keepDraft<T>(place: string, value: T | undefined): void {
  try {
    const text = value === undefined ? '' : JSON.stringify({ at: Date.now(), value });
    if (text === '' || text.length > longest || hasSecret(value)) {
      sessionStorage.removeItem(prefix + place);
      return;
    }
    sessionStorage.setItem(prefix + place, text);
    const drafts = Object.keys(sessionStorage).filter((key) => key.startsWith(prefix));
    if (drafts.length <= most) return;
    const age = (key: string) => (JSON.parse(sessionStorage.getItem(key) ?? '{}') as Kept<T>).at;
    const [oldest] = drafts.sort((a, b) => age(a) - age(b));
    if (oldest) sessionStorage.removeItem(oldest);
  } catch {
    // The storage is full or disabled: there are no drafts.
  }
}

/** Whether a value can be stored as a draft. */
export const isKept = (value: unknown) => !hasSecret(value);

/** Each string is checked separately: JSON inside of JSON has escaped quotes. */
function hasSecret(value: unknown): boolean {
  if (typeof value === 'string') return maskSecrets(value) !== value;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasSecret);
}

/**
 * Stores a value while the user types. `restored` is true until the draft is discarded or saved.
 * With `leaving: 'forget'` the draft survives only a reload of the page: for forms that ask before
 * they are left.
 */
export function useDraft<T>(
  place: string,
  value: T | undefined,
  leaving: 'keep' | 'forget' = 'keep',
): boolean {
  const [found] = useState(() => readDraft<T>(place) !== undefined);
  const restored = useRef(found);
  if (value === undefined) restored.current = false;
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the value
  useEffect(() => keepDraft(place, value), [place, text]);
  useEffect(() => {
    if (leaving === 'forget') return () => keepDraft(place, undefined);
  }, [place, leaving]);
  return restored.current;
}
