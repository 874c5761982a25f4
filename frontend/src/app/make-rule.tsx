import { ShieldCheck } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '@/components/button';
import { lazyChunk } from '@/lib/lazy-chunk';

// In the chunk of the settings page, which is preloaded but not part of the first load.
const loadDialog = lazyChunk(() => import('./settings-route'));
const Dialog = lazy(async () => ({ default: (await loadDialog()).RuleFromCall }));

/** Creates a rule for calls like this one. */
export function MakeRuleButton({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="quiet" onClick={() => setOpen(true)}>
        <ShieldCheck className="size-3.5" aria-hidden />
        Create rule
      </Button>
      {open && (
        <Suspense fallback={null}>
          <Dialog call={id} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
