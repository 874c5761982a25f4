import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
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
                onGone();
              },
            })
          }
        >
          {texts.calls.deleteBody}
        </Confirm>
      )}
    </>
  );
}
