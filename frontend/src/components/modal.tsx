import { type ReactNode, useEffect, useRef, useState } from 'react';
import { AtRest } from '@/components/guarded-list';
import { classes } from '@/lib/class-names';
import { InDialog } from '@/lib/dialog-portal';

/**
 * A modal dialog, open while it is mounted. It is the browser's own dialog element, which keeps the
 * focus inside; the usual libraries insert a style element, which the content security policy forbids.
 */
export function Modal({
  label,
  onClose,
  className,
  children,
}: {
  label: string;
  onClose: () => void;
  className?: string;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<HTMLElement | null>(null);
  useEffect(() => {
    setShown(dialog.current);
    const element = dialog.current;
    const origin = whereFrom();
    element?.showModal();
    // The browser focuses the first focusable element, even a diff.
    element?.querySelector<HTMLElement>('[data-first]')?.focus({ preventScroll: true });
    return () => {
      element?.close();
      // The browser restores the focus, but not to a menu that was closed.
      if (document.activeElement === document.body) origin?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        // An open tooltip handles Escape, and no cancel event is sent.
        if (event.key !== 'Escape') return;
        event.preventDefault(); // what is below must not close too
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose(); // outside of the dialog
      }}
      className={classes(
        'fixed inset-x-4 top-[8vh] mx-auto max-h-[84vh] w-auto flex-col overflow-hidden rounded-xl border bg-panel p-0 text-ink shadow-float outline-none open:flex backdrop:bg-black/40 dark:backdrop:bg-black/75',
        className,
      )}
    >
      <AtRest>
        <InDialog value={shown}>{children}</InDialog>
      </AtRest>
    </dialog>
  );
}

/** The focused element; for an item of a menu, which closes, the button that opened the menu. */
function whereFrom(): HTMLElement | null {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement)) return null;
  const opener = at.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return opener ? document.getElementById(opener) : at;
}
