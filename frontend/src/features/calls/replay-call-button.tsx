import { useNavigate } from '@tanstack/react-router';
import { LoaderCircle, Repeat } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { JsonView } from '@/components/json-view';
import { escapeControlCharacters } from '@/lib/format';
import { toast, toastError } from '@/lib/toast';
import type { CallDetail } from '@/types/api';
import { useReplay } from './api';
import { callsTexts } from './texts';

const words = {
  sendAgain: 'Send again',
};

/** Repeats the call and opens the comparison. Tools that are not read-only need a confirmation. */
export function ReplayButton({
  call,
  server,
  readOnly,
}: {
  call: CallDetail;
  /** The display name of the server. */
  server: string;
  readOnly: boolean;
}) {
  const [asking, setAsking] = useState(false);
  const replay = useReplay(call.id);
  const navigate = useNavigate();
  const run = (confirm: boolean) =>
    replay.mutate(confirm, {
      onSuccess: (done) => {
        setAsking(false);
        if (done.success) toast('ok', 'Sent again and compared with the original call.');
        else toast('bad', 'Sent again; it failed again.');
        navigate({
          to: '/calls/$id',
          params: { id: done.callId },
          search: (old) => ({ ...old, with: call.id }),
        });
      },
      onError: (error) => {
        if (confirm) return; // shown in the dialog
        toastError(error);
      },
    });
  return (
    <>
      <Button
        small
        look="quiet"
        disabled={replay.isPending}
        onClick={() => (readOnly ? run(false) : setAsking(true))}
      >
        {replay.isPending ? (
          <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
        ) : (
          <Repeat className="size-3.5" aria-hidden />
        )}
        {words.sendAgain}
      </Button>
      {asking && (
        <Confirm
          title={`Send ${escapeControlCharacters(`${server} / ${call.tool}`.slice(0, 200))} again?`}
          action={words.sendAgain}
          danger={false}
          of={replay}
          onConfirm={() => run(true)}
          onClose={() => setAsking(false)}
        >
          <p>This tool is not marked read-only. It will run with these arguments:</p>
          {call.arguments && (
            <div className="mt-3">
              <JsonView text={call.arguments} label={callsTexts.arguments} />
            </div>
          )}
        </Confirm>
      )}
    </>
  );
}
