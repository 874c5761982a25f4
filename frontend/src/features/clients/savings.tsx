import { useQuery } from '@tanstack/react-query';
import { PiggyBank } from 'lucide-react';
import { useState } from 'react';
import { bytes, plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import { savingsQuery } from './api';

const t = texts.savings;

/** What clients start by themselves, how much of it twice, and what that takes. */
export function SavingsCard() {
  const { data } = useQuery(savingsQuery);
  const [open, setOpen] = useState(false);
  if (!data || (data.configured === 0 && (data.running ?? []).length === 0 && !data.before))
    return null;
  const running = data.running ?? [];
  return (
    <section
      aria-label={t.title}
      className="flex gap-4 rounded-lg border border-accent bg-accent-soft p-4"
    >
      <PiggyBank className="size-6 shrink-0 text-accent" aria-hidden />
      <div className="min-w-0 flex-1">
        <h2 className="text-base font-semibold">{sentence(data)}</h2>
        <p className="mt-0.5 text-sm text-ink2">
          {data.before && data.before.bytes > data.bytes
            ? t.since(bytes(data.before.bytes), bytes(data.bytes))
            : data.copies > 0
              ? t.twice(bytes(data.copyBytes))
              : t.once}
        </p>
        {running.length > 0 && (
          <button
            type="button"
            aria-expanded={open}
            onClick={() => setOpen((on) => !on)}
            className="mt-1 text-sm text-accent underline-offset-2 hover:underline"
          >
            {open ? texts.problems.less : t.show(running.length)}
          </button>
        )}
        {open && (
          <ul className="mt-2 space-y-0.5 text-sm">
            {running.map((one) => (
              <li key={one.pid} className="flex flex-wrap gap-x-3">
                <span className="min-w-0 flex-1 basis-40 truncate">
                  {plain((one.name || String(one.pid)).slice(0, 120))}
                  {one.copy && <span className="ml-2 text-xs text-warn">{t.copy}</span>}
                </span>
                <span className="text-ink3">{plain(one.client || t.unknown)}</span>
                <span className="w-20 text-right">{bytes(one.bytes)}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

export function sentence(data: {
  configured: number;
  clients: number;
  copies: number;
  bytes: number;
}): string {
  return t.found(data.configured, data.clients, data.copies, bytes(data.bytes));
}
