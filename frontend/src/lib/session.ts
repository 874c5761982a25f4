/**
 * How this browser proves that it was let in: a cookie that only the daemon reads,
 * and a key that only this origin reads. Both come from a one-time code in the
 * fragment of the address that the tray and `drawbridge open` print.
 */
const storageKey = 'drawbridge.key';

let memory: string | null = null; // for browsers whose storage is switched off

export function sessionKey(): string | null {
  try {
    return localStorage.getItem(storageKey) ?? memory;
  } catch {
    return memory;
  }
}

export function keepSessionKey(key: string): void {
  memory = key;
  try {
    localStorage.setItem(storageKey, key);
  } catch {
    // Kept in memory: the session then ends with the tab.
  }
}

/**
 * Takes the one-time code out of the address, so that it is neither kept in the history
 * nor used twice, and leads to the place of the page that stands beside it.
 */
export function takeCode(location: Location, history: History): string | null {
  const fragment = new URLSearchParams(location.hash.replace(/^#\/?\??/, ''));
  const code = fragment.get('code');
  if (!code) return null;
  const to = fragment.get('to') ?? '/';
  const place = to.startsWith('/') && !to.startsWith('//') ? to : '/';
  history.replaceState(null, '', `${location.pathname}${location.search}#${place}`);
  return code;
}

/** Calls back when another tab let this browser in. */
export function onSessionKey(then: () => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === storageKey && event.newValue) then();
  };
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}
