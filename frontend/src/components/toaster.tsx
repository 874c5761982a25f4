import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { Button } from '@/components/button';
import { texts } from '@/lib/texts';
import { dismissToast, holdToasts, useToasts } from '@/lib/toast';

/** Our own, because the usual library writes inline styles, which the page's policy forbids. */
export function Toaster() {
  const toasts = useToasts();
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing is done by it, only held on to
    <div
      aria-live="polite"
      onPointerEnter={() => holdToasts(true)}
      onPointerLeave={() => holdToasts(false)}
      onFocus={() => holdToasts(true)}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) holdToasts(false);
      }}
      className="pointer-events-none fixed inset-x-0 bottom-20 z-50 flex flex-col items-center gap-2 px-4 md:bottom-6"
    >
      {toasts.map((toast) => (
        <div
          key={toast.id}
          className="pointer-events-auto flex w-full max-w-md items-start gap-2 rounded-lg border bg-panel py-2 pr-2 pl-3 text-sm shadow-float"
        >
          {toast.tone === 'bad' ? (
            <CircleAlert className="mt-1 size-4 shrink-0 text-bad" aria-hidden />
          ) : (
            <CircleCheck className="mt-1 size-4 shrink-0 text-ok" aria-hidden />
          )}
          <span className="min-w-0 flex-1 py-0.5 [overflow-wrap:anywhere]">{toast.text}</span>
          {toast.action && (
            <Button
              small
              onClick={() => {
                dismissToast(toast.id);
                toast.action?.run();
              }}
            >
              {toast.action.text}
            </Button>
          )}
          <button
            type="button"
            aria-label={texts.actions.dismiss}
            onClick={() => dismissToast(toast.id)}
            className="rounded p-1 text-ink3 hover:bg-hover hover:text-ink"
          >
            <X className="size-4" aria-hidden />
          </button>
        </div>
      ))}
    </div>
  );
}
