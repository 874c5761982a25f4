import { createContext, useContext } from 'react';

/** The dialog around a component; its menus must be inside of it, or they are shown below it. */
export const InDialog = createContext<HTMLElement | null>(null);

/** The parent of a menu or tooltip: its dialog, or else the page's main element. */
export function usePortalHome(): HTMLElement | null {
  return useContext(InDialog) ?? document.getElementById('main');
}
