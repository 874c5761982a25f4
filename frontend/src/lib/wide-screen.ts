import { useCallback, useSyncExternalStore } from 'react';

/** Whether the screen is wide enough for a list and its detail, or has at least `width`. */
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
