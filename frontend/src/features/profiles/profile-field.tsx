import { type ReactNode, useId } from 'react';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';

export const inputClasses =
  'h-8 w-full rounded-md border border-strong bg-panel px-2.5 text-sm text-ink aria-invalid:border-bad';

/** A form field with its label, and its error or a hint. */
export function Field({
  label,
  hint,
  required = false,
  headed = false,
  fault,
  children,
}: {
  label: string;
  hint?: string;
  required?: boolean;
  /** Whether a heading above shows the label already. */
  headed?: boolean;
  fault: string | undefined;
  children: (props: {
    id: string;
    'aria-invalid': boolean;
    'aria-required': boolean;
    'aria-describedby': string;
  }) => ReactNode;
}) {
  const id = useId();
  return (
    <div>
      <div className={headed ? 'sr-only' : 'mb-1 flex items-baseline gap-2'}>
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {required && <span className="text-xs text-ink3">{texts.tools.required}</span>}
      </div>
      {children({
        id,
        'aria-invalid': fault !== undefined,
        'aria-required': required,
        'aria-describedby': `${id}-about`,
      })}
      <p id={`${id}-about`} className={classes('mt-1 text-xs', fault ? 'text-bad' : 'text-ink3')}>
        {fault ? escapeControlCharacters(fault) : hint}
      </p>
    </div>
  );
}
