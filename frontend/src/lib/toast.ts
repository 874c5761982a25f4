import { useCallback, useEffect, useRef } from 'react';
import { toast as sonner } from 'sonner';
import { escapeControlCharacters } from '@/lib/format';
import { messageOf, RequestError } from '@/lib/request';

/** A button on a toast, usually Undo. */
export interface ToastAction {
  text: string;
  run: () => unknown;
}

/**
 * Shows a sentence for a while: errors longer than others, and those with Undo longest. It replaces one with
 * the same id.
 */
export function toast(tone: 'ok' | 'bad', text: string, action?: ToastAction, id = text): string {
  sonner[tone === 'ok' ? 'success' : 'error'](text, {
    id,
    // The browser checks lengthen these (e2e/waiting.mjs).
    duration: action ? 12_000 : tone === 'bad' ? 9000 : 4000,
    action: action && { label: action.text, onClick: () => void action.run() },
  });
  return id;
}

/** Says why a request failed, and what to do about it, instead of why the same request failed before. */
export function toastError(error: unknown): void {
  const id = (error instanceof RequestError && error.action) || undefined;
  toast('bad', escapeControlCharacters(messageOf(error)), undefined, id);
}

/** Like toast, for an action that can be undone only while this component is mounted. */
export function useLocalToast(): typeof toast {
  const last = useRef<string>(undefined);
  useEffect(() => () => void (last.current !== undefined && sonner.dismiss(last.current)), []);
  return useCallback((tone, text, action) => {
    last.current = toast(tone, text, action);
    return last.current;
  }, []);
}
