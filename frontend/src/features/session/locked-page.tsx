import { LockKeyhole } from 'lucide-react';
import { CopyField } from '@/components/copy-button';
import { Logo } from '@/components/logo';
import { texts } from '@/lib/texts';

const t = texts.locked;

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
          {t.title}
        </h1>
        {(spent || ended) && (
          <p role="alert" className="mt-3 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
            {spent ? t.spent : t.ended}
          </p>
        )}
        <p className="mt-2 text-ink2">{t.body}</p>
        <ul className="mt-4 list-disc space-y-3 pl-5">
          <li>{t.tray}</li>
          <li>
            {t.cli}
            <div className="mt-1.5">
              <CopyField text={t.command} label={t.command} />
            </div>
          </li>
        </ul>
        <p className="mt-4 text-sm text-ink3">{t.waiting}</p>
      </div>
    </main>
  );
}
