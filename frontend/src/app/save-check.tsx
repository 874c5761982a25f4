import { useQueryClient } from '@tanstack/react-query';
import { ListChecks } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '@/components/button';
import { callQueryOptions } from '@/features/calls/api';
import { lazyChunk } from '@/lib/lazy-chunk';
import { texts } from '@/lib/texts';

// In the chunk of the checks page, which is preloaded but not part of the first load.
const loadDialogs = lazyChunk(() => import('./checks-route'));
const Dialog = lazy(async () => ({ default: (await loadDialogs()).SaveDialog }));

/** The dialog that creates a check from recorded calls. */
export function SaveCheck({ ids, onClose }: { ids: string[]; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <Suspense fallback={null}>
      <Dialog ids={ids} load={(id) => client.fetchQuery(callQueryOptions(id))} onClose={onClose} />
    </Suspense>
  );
}

export function SaveCheckButton({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="quiet" onClick={() => setOpen(true)}>
        <ListChecks className="size-3.5" aria-hidden />
        {texts.checks.save}
      </Button>
      {open && <SaveCheck ids={[id]} onClose={() => setOpen(false)} />}
    </>
  );
}
