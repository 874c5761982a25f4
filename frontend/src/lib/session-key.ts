/**
 * The credentials of this browser: a cookie that only the daemon can read, and a key that only this
 * origin can read. Both are obtained with a one-time code in the fragment of the URL that the tray
 * opens and `drawbridge open` prints.
 */
const storageKey = 'drawbridge.key';

let memory: string | null = null; // for browsers without storage

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
    // Kept in memory, so the session ends with the tab.
  }
}

/**
 * Removes the one-time code from the URL, so that it is neither kept in the browser's history nor
 * used twice, and opens the path beside it.
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

/** Calls the listener when another tab signs in this browser. */
export function onSessionKey(then: () => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === storageKey && event.newValue) then();
  };
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}
