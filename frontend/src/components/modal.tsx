import { type ReactNode, useEffect, useRef, useState } from 'react';
import { classes } from '@/lib/classes';
import { InDialog } from '@/lib/portal';

/**
 * A dialog above the page, while it is mounted. The browser's own, which keeps the
 * focus inside by itself; the usual libraries write a style element for it, which the
 * page's policy forbids.
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
    // The browser's first choice is whatever can have the focus, a diff too.
    element?.querySelector<HTMLElement>('[data-first]')?.focus({ preventScroll: true });
    return () => {
      element?.close();
      // The browser gives the focus back by itself, but not to a menu that is gone.
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
        // A tooltip that is open takes Escape for itself, and no cancel event comes.
        if (event.key !== 'Escape') return;
        event.preventDefault(); // what lies below must not close too
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose(); // beside it
      }}
      className={classes(
        'fixed inset-x-4 top-[8vh] mx-auto max-h-[84vh] w-auto flex-col overflow-hidden rounded-xl border bg-panel p-0 text-ink shadow-float outline-none open:flex backdrop:bg-black/40 dark:backdrop:bg-black/60',
        className,
      )}
    >
      <InDialog value={shown}>{children}</InDialog>
    </dialog>
  );
}

/** What had the focus; of a menu, which closes, the button that opened it. */
function whereFrom(): HTMLElement | null {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement)) return null;
  const opener = at.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return opener ? document.getElementById(opener) : at;
}
