import { LockKeyhole } from 'lucide-react';
import { CopyField } from '@/components/copy-button';
import { Logo } from '@/components/logo';
import { texts } from '@/lib/texts';

const words = {
  command: 'drawbridge open',
};

/** Shown without a session. `spent`: the code of the link was rejected; `ended`: the session ended. */
export function LockedPage({ spent, ended }: { spent: boolean; ended: boolean }) {
  return (
    <main className="scroll-area flex h-full items-center justify-center p-4">
      <div className="w-full max-w-md rounded-xl border bg-panel p-6 shadow-card sm:p-8">
        <div className="mb-5 flex items-center gap-3">
          <Logo className="size-9" />
          <span className="text-lg font-semibold tracking-tight">{texts.product}</span>
        </div>
        <h1 className="flex items-center gap-2 text-lg font-semibold">
          <LockKeyhole className="size-5 shrink-0 text-ink3" aria-hidden />
          This browser is not signed in
        </h1>
        {(spent || ended) && (
          <p role="alert" className="mt-3 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
            {spent
              ? 'This link has expired or was already used. Each link works once.'
              : 'The session has ended.'}
          </p>
        )}
        <p className="mt-2 text-ink2">
          Drawbridge can run commands on this computer, so this page opens only with a one-time
          link. Get a new link in one of two ways:
        </p>
        <ul className="mt-4 list-disc space-y-3 pl-5">
          <li>From the tray icon: choose Open.</li>
          <li>
            In a terminal, run
            <div className="mt-1.5">
              <CopyField text={words.command} label={words.command} />
            </div>
          </li>
        </ul>
        <p className="mt-4 text-sm text-ink3">
          This page continues as soon as you open the link in this browser.
        </p>
      </div>
    </main>
  );
}
