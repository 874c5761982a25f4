import { useSyncExternalStore } from 'react';

export const themeNames = { system: 'System', light: 'Light', dark: 'Dark' };
export type Theme = keyof typeof themeNames;
export const themes = Object.keys(themeNames) as Theme[];

const storageKey = 'drawbridge.theme'; // public/theme.js reads it before the first paint
const listeners = new Set<() => void>();
let fallback: Theme = 'system';

function current(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return fallback;
  }
}

function apply(): void {
  const theme = current();
  const dark =
    theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function setTheme(theme: Theme): void {
  fallback = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage the choice is kept until the page is closed.
  }
  apply();
}

/** Follows the system and other tabs while the page is open. */
export function watchTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply);
  window.addEventListener('storage', (event) => {
    if (event.key === storageKey) apply();
  });
  apply();
}

/** Calls the listener after each change of the colours, until the returned function is called. */
export function watchColours(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(watchColours, current);
}
