import { ShieldCheck } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '@/components/button';
import { part } from '@/lib/page-part';
import { texts } from '@/lib/texts';

// In the file of the page that shows rules: it is loaded ahead, and not first.
const loadDialog = part(() => import('./settings-route'));
const Dialog = lazy(async () => ({ default: (await loadDialog()).RuleFromCall }));

/** Makes a rule about calls like one. */
export function MakeRuleButton({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small look="quiet" onClick={() => setOpen(true)}>
        <ShieldCheck className="size-3.5" aria-hidden />
        {texts.rules.make}
      </Button>
      {open && (
        <Suspense fallback={null}>
          <Dialog call={id} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
