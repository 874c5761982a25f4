import type { ReactNode } from 'react';

/** A sentence that warns or says what failed. */
export function Note({
  tone,
  children,
  role,
}: {
  tone: 'warn' | 'bad';
  children: ReactNode;
  role?: 'alert' | 'status';
}) {
  return (
    <div
      role={role}
      className={`rounded-md px-3 py-2 text-sm [overflow-wrap:anywhere] ${tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-warn-soft text-warn'}`}
    >
      {children}
    </div>
  );
}
