import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { Toaster as Sonner } from 'sonner';
import { buttonClasses } from '@/components/button';

const bottom = { bottom: 'var(--toast-bottom)' };

/** Shows the toasts of lib/toast. The styles are in styles.css. */
export function Toaster() {
  return (
    // A click on a toast does not move the focus. Sonner would restore it when the toast disappears,
    // and thereby close a menu that was opened in the meantime.
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing is activated by it
    <div onMouseDown={(event) => event.preventDefault()}>
      <Sonner
        position="bottom-center"
        expand
        closeButton
        gap={8}
        offset={bottom}
        mobileOffset={bottom}
        containerAriaLabel="Notifications"
        icons={{
          success: <CircleCheck className="size-4 text-ok" aria-hidden />,
          error: <CircleAlert className="size-4 text-bad" aria-hidden />,
          close: <X className="size-4" aria-hidden />,
        }}
        toastOptions={{
          unstyled: true,
          closeButtonAriaLabel: 'Dismiss',
          classNames: {
            toast:
              'flex w-(--width) items-start gap-2 rounded-lg border bg-panel py-2 pr-2 pl-3 text-sm text-ink shadow-float',
            icon: 'mt-1 shrink-0',
            content: 'min-w-0 flex-1 py-0.5 [overflow-wrap:anywhere]',
            actionButton: buttonClasses('secondary', true),
            closeButton: 'order-last rounded p-1 text-ink3 hover:bg-hover hover:text-ink',
          },
        }}
      />
    </div>
  );
}
