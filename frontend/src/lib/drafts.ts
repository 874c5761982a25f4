import { useEffect, useRef, useState } from 'react';
import { maskSecrets } from './mask-secrets';

const prefix = 'draft:';
/** Longer texts are not kept, and of more drafts the oldest goes. */
const longest = 200_000;
const most = 20;

interface Kept<T> {
  at: number;
  value: T;
}

/** What was typed at a place and not saved. */
export function readDraft<T>(place: string): T | undefined {
  try {
    const text = sessionStorage.getItem(prefix + place);
    return text === null ? undefined : (JSON.parse(text) as Kept<T>).value;
  } catch {
    return undefined;
  }
}

/**
 * Keeps what was typed at a place for as long as the tab exists, or forgets it if value is
 * undefined. What contains a secret is not kept: the storage of the browser is on the disk.
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
    // The storage is full or forbidden: then there are no drafts.
  }
}

/** Whether a value of that kind can be kept as a draft. */
export const isKept = (value: unknown) => !hasSecret(value);

/** Each text is looked at alone: JSON inside of JSON has escaped quotes. */
function hasSecret(value: unknown): boolean {
  if (typeof value === 'string') return maskSecrets(value) !== value;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasSecret);
}

/**
 * Keeps a value while somebody types. `restored` is true until the draft was discarded or is no
 * longer a draft. With `leaving: 'forget'` the draft only outlives a reload of the page: for forms
 * that ask before they are left.
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
