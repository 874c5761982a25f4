import { LoaderCircle } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Modal } from '@/components/modal';
import { classes } from '@/lib/class-names';
import { texts } from '@/lib/texts';

interface FormProps {
  title: string;
  /** The label of the button that submits. */
  action: string;
  ready: boolean;
  pending?: boolean;
  error?: unknown;
  /** Whether the fields may be longer than the dialog: a line separates the buttons from them. */
  long?: boolean;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** A modal dialog with a form. */
export function FormDialog({
  label,
  className = 'max-w-md',
  ...form
}: FormProps & {
  /** The name of the dialog if it is not the title. */
  label?: string;
  className?: string;
}) {
  return (
    <Modal label={label ?? form.title} onClose={form.onClose} className={className}>
      <DialogForm {...form} />
    </Modal>
  );
}

/** The form in a dialog: title, fields, why it could not be submitted, and the buttons. */
export function DialogForm({
  title,
  action,
  ready,
  pending = false,
  error,
  long = false,
  onSubmit,
  onClose,
  children,
}: FormProps) {
  return (
    <form
      className="flex min-h-0 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !pending) onSubmit();
      }}
    >
      <div
        className={classes(
          'scroll-area min-h-0 flex-1 p-5',
          long ? 'space-y-4 border-b' : 'space-y-3',
        )}
      >
        <h2 className="text-lg font-semibold [overflow-wrap:anywhere]">{title}</h2>
        {children}
      </div>
      <div className={classes('space-y-3 px-5', long ? 'py-3' : 'pb-5')}>
        <Failure error={error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{texts.actions.cancel}</Button>
          <Button type="submit" look="primary" disabled={!ready || pending}>
            {pending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {action}
          </Button>
        </div>
      </div>
    </form>
  );
}
