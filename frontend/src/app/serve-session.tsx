import { Rewind } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '@/components/button';
import { lazyChunk } from '@/lib/lazy-chunk';

const loadDialog = lazyChunk(() => import('@/features/servers/add-replay-server'));
const Dialog = lazy(async () => ({ default: (await loadDialog()).AddReplayServer }));

/** Starts a replay server for the recorded calls of a session. */
export function ServeSession({ session, servers }: { session: string; servers: string[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="quiet" onClick={() => setOpen(true)}>
        <Rewind className="size-3.5" aria-hidden />
        Serve recorded session
      </Button>
      {open && (
        <Suspense fallback={null}>
          <Dialog recorded={servers} session={session} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
