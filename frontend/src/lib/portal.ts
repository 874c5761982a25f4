import { createContext, useContext } from 'react';

/** The dialog that a part stands in; what drops from it has to be in there too, or lies below. */
export const InDialog = createContext<HTMLElement | null>(null);

/** Where a menu or a hint is put: in its dialog, else in the page's main part and not beside all of it. */
export function usePortalHome(): HTMLElement | null {
  return useContext(InDialog) ?? document.getElementById('main');
}
