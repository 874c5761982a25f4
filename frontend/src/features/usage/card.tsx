import type { ReactNode } from 'react';

export function Card({
  title,
  note,
  children,
}: {
  title: string;
  note?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border bg-panel p-4 shadow-card">
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <h2 className="font-semibold">{title}</h2>
        {note && <span className="text-sm text-ink3">{note}</span>}
      </div>
      {children}
    </section>
  );
}
