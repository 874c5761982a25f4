import { CircleAlert, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { classes } from '@/lib/class-names';

/** A message across the page, for something that concerns all of it. */
export function Banner({
  tone,
  children,
  action,
}: {
  tone: 'warn' | 'bad';
  children: ReactNode;
  action?: ReactNode;
}) {
  const Icon = tone === 'bad' ? CircleAlert : TriangleAlert;
  return (
    <div
      className={classes(
        'flex shrink-0 items-center gap-3 border-b px-4 py-2 text-sm md:px-6',
        tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-warn-soft text-warn',
      )}
    >
      <div className="flex min-w-0 flex-1 items-start gap-2">
        <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
        <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">{children}</div>
      </div>
      {action}
    </div>
  );
}
