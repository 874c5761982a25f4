import { useSyncExternalStore } from 'react';

const query = '(min-width: 1024px)'; // where lists and details stand side by side

/** Whether there is room for a list and its detail. */
export function useWideScreen(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}
