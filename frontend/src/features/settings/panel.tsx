import type { ReactNode } from 'react';

/** One topic of a page of settings. */
export function Panel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section
      aria-label={title}
      data-panel
      tabIndex={-1}
      className="scroll-mt-1 outline-none rounded-lg border bg-panel p-4 shadow-card md:p-5"
    >
      <h2 className="mb-3 font-semibold">{title}</h2>
      {children}
    </section>
  );
}
