import { readStored, useStored, writeStored } from './stored-preference';

export type Density = 'comfortable' | 'compact';

const storageKey = 'drawbridge.density'; // public/theme.js reads it before the first paint
const check = (value: unknown): Density => (value === 'compact' ? 'compact' : 'comfortable');

export function setDensity(density: Density): void {
  writeStored(storageKey, density);
  applyDensity();
}

/** Spacing follows this attribute, see styles.css. */
function applyDensity(): void {
  document.documentElement.dataset.density = readStored(storageKey, check);
}

/** Follows other tabs while the page is open. */
export function watchDensity(): void {
  window.addEventListener('storage', applyDensity);
  applyDensity();
}

export function useDensity(): Density {
  return useStored(storageKey, check)[0];
}
