import type { ReactNode } from 'react';

export function Card({
  title,
  note,
  aside,
  className = '',
  children,
}: {
  title: string;
  note?: ReactNode;
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section
      aria-label={title}
      className={`min-w-0 rounded-lg border bg-panel p-4 shadow-card ${className}`}
    >
      <div className="mb-1 flex min-h-7 flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 className="font-semibold">{title}</h2>
        {note && <span className="text-sm text-ink3">{note}</span>}
        {aside}
      </div>
      {children}
    </section>
  );
}
