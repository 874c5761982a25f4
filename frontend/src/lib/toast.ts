import { useCallback, useEffect, useRef } from 'react';
import { toast as sonner } from 'sonner';

/** A button on a toast, mostly one that undoes what was just done. */
export interface ToastAction {
  text: string;
  run: () => unknown;
}

/**
 * Shows a sentence for a while. Failures stay longer, and longest what can be undone.
 * The same text is not shown twice.
 */
export function toast(tone: 'ok' | 'bad', text: string, action?: ToastAction): string {
  sonner[tone === 'ok' ? 'success' : 'error'](text, {
    id: text,
    duration: action ? 12_000 : tone === 'bad' ? 9000 : 4000,
    action: action && { label: action.text, onClick: () => void action.run() },
  });
  return text;
}

/** Like toast, for what can be undone only while this part of the page is mounted. */
export function useLocalToast(): typeof toast {
  const last = useRef<string>(undefined);
  useEffect(() => () => void (last.current !== undefined && sonner.dismiss(last.current)), []);
  return useCallback((tone, text, action) => {
    last.current = toast(tone, text, action);
    return last.current;
  }, []);
}
