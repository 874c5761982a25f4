import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { focusLater } from '@/lib/focus-later';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import { type Erasure, useErase } from './api';

/** Deletes recorded calls after a confirmation: some calls, or all calls of a session. */
export function DeleteCallsButton({
  what,
  title,
  onGone,
}: {
  what: Erasure;
  title: string;
  onGone: () => void;
}) {
  const [asking, setAsking] = useState(false);
  const erase = useErase();
  return (
    <>
      <Button small look="quiet" onClick={() => setAsking(true)}>
        <Trash2 className="size-3.5" aria-hidden />
        {texts.actions.delete}
      </Button>
      {asking && (
        <Confirm
          title={title}
          action={texts.actions.delete}
          of={erase}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            erase.mutate(what, {
              onSuccess: ({ deleted }) => {
                toast('ok', texts.calls.deleted(deleted));
                const next = rowAfter(what.ids?.[0]);
                onGone();
                focusLater(() => rowOf(next) ?? document.getElementById('main'));
              },
            })
          }
        >
          Arguments, results and notes will be permanently deleted. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}

function rowOf(id: string | undefined): HTMLElement | null {
  return id === undefined ? null : document.querySelector(`[data-call="${CSS.escape(id)}"]`);
}

/** The call in the row below that of a call in the list, or above it. */
function rowAfter(id: string | undefined): string | undefined {
  const row = rowOf(id)?.closest('[data-row]');
  const other = row?.nextElementSibling ?? row?.previousElementSibling;
  return other?.querySelector<HTMLElement>('[data-call]')?.dataset.call;
}
