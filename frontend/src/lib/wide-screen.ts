import { useCallback, useSyncExternalStore } from 'react';

/** Whether there is room for a list and its detail, or for as much as `width` says. */
export function useWideScreen(width = '1024px'): boolean {
  const query = `(min-width: ${width})`;
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}
