import { type ReactNode, useId } from 'react';
import { classes } from '@/lib/classes';
import { plain } from '@/lib/format';

export const input =
  'h-8 w-full rounded-md border border-strong bg-panel px-2.5 text-sm text-ink aria-invalid:border-bad';

/** A field with its name, and what is wrong in it or what it is for. */
export function Field({
  label,
  hint,
  fault,
  children,
}: {
  label: string;
  hint?: string;
  fault: string | undefined;
  children: (props: {
    id: string;
    'aria-invalid': boolean;
    'aria-describedby': string;
  }) => ReactNode;
}) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children({ id, 'aria-invalid': fault !== undefined, 'aria-describedby': `${id}-about` })}
      <p id={`${id}-about`} className={classes('mt-1 text-xs', fault ? 'text-bad' : 'text-ink3')}>
        {fault ? plain(fault) : hint}
      </p>
    </div>
  );
}
