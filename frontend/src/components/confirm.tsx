import { LoaderCircle } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '@/components/button';
import { Modal } from '@/components/modal';
import { Failure } from './failure';

/** Asks for confirmation of an action that cannot be undone. The safe answer has the focus. */
export function Confirm({
  title,
  children,
  action,
  keep = 'Cancel',
  danger = true,
  of,
  pending = of?.isPending ?? false,
  blocked = false,
  error = of?.error,
  onConfirm,
  onClose,
}: {
  title: string;
  children?: ReactNode;
  /** The label of the button that confirms. */
  action: string;
  /** The safe answer. */
  keep?: string;
  danger?: boolean;
  /** The action: while it runs, the dialog stays open; it is reset when the dialog is closed. */
  of?: { isPending: boolean; error: unknown; reset: () => void };
  pending?: boolean;
  /** Why it cannot be confirmed yet. */
  blocked?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const close = () => {
    if (of?.isPending) return; // its result is shown here
    onClose();
    of?.reset();
  };
  return (
    <Modal label={title} onClose={close} className="max-w-md">
      <div className="scroll-area p-5">
        <h2 className="text-lg font-semibold [overflow-wrap:anywhere]">{title}</h2>
        {children && <div className="mt-2 text-ink2 [overflow-wrap:anywhere]">{children}</div>}
        <Failure error={error} className="mt-3" />
        <div className="mt-5 flex justify-end gap-2">
          <Button data-first disabled={of?.isPending ?? false} onClick={close}>
            {keep}
          </Button>
          <Button
            look={danger ? 'danger' : 'primary'}
            disabled={pending || blocked}
            onClick={onConfirm}
          >
            {pending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {action}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
