import { type ComponentProps, type ReactNode, useId } from 'react';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';

/** The look of text fields. They are as wide as their parent: max-w-* makes them narrower. */
export const inputClasses =
  'w-full min-w-0 rounded-md border border-strong bg-panel px-2.5 text-sm text-ink placeholder:text-ink3 aria-invalid:border-bad disabled:bg-sunken disabled:text-ink3';

interface FieldProps {
  label: string;
  /** Only for screen readers, because a heading or the placeholder shows the label already. */
  labelHidden?: boolean;
  /** The label in small grey text. */
  small?: boolean;
  required?: boolean;
  hint?: ReactNode;
  /** The error in the value, which replaces the hint. */
  fault?: string | undefined;
  className?: string;
}

/** A form field with its label, and its error or a hint. `children` gets what connects them. */
export function Field({
  label,
  labelHidden = false,
  small = false,
  required = false,
  hint,
  fault,
  className,
  children,
}: FieldProps & {
  children: (props: {
    id: string;
    'aria-label': string | undefined;
    'aria-invalid': boolean;
    'aria-required': boolean;
    'aria-describedby': string | undefined;
  }) => ReactNode;
}) {
  const id = useId();
  const about = fault ? escapeControlCharacters(fault) : hint;
  return (
    <div className={className}>
      {!labelHidden && (
        <div className="mb-1 flex items-baseline gap-2">
          <label
            htmlFor={id}
            className={small ? 'text-xs text-ink3' : 'text-sm font-medium [overflow-wrap:anywhere]'}
          >
            {label}
          </label>
          {required && <span className="text-xs text-ink3">required</span>}
        </div>
      )}
      {children({
        id,
        'aria-label': labelHidden ? label : undefined,
        'aria-invalid': Boolean(fault),
        'aria-required': required,
        'aria-describedby': about ? `${id}-about` : undefined,
      })}
      {about && (
        <p id={`${id}-about`} className={classes('mt-1 text-xs', fault ? 'text-bad' : 'text-ink3')}>
          {about}
        </p>
      )}
    </div>
  );
}

/** A labelled line of text. className is that of the field with its label. */
export function TextField({
  label,
  labelHidden,
  small,
  required,
  hint,
  fault,
  className,
  inputClassName,
  onChange,
  ...input
}: FieldProps &
  Omit<ComponentProps<'input'>, keyof FieldProps | 'onChange'> & {
    inputClassName?: string;
    onChange: (value: string) => void;
  }) {
  return (
    <Field {...{ label, labelHidden, small, required, hint, fault, className }}>
      {(props) => (
        <input
          spellCheck={false}
          autoComplete="off"
          {...props}
          {...input}
          onChange={(event) => onChange(event.target.value)}
          className={classes(inputClasses, 'h-8', inputClassName)}
        />
      )}
    </Field>
  );
}

/** A labelled text of one value per line. */
export function LinesField({
  value,
  onChange,
  ...field
}: FieldProps & { value: string; onChange: (value: string) => void }) {
  return (
    <Field {...field}>
      {(props) => (
        <textarea
          {...props}
          rows={Math.min(12, Math.max(2, value.split('\n').length))}
          value={value}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
          className={classes(inputClasses, 'block py-1.5 font-mono text-xs leading-5')}
        />
      )}
    </Field>
  );
}

/** A check box with its label, and a hint below. */
export function CheckBox({
  label,
  hint,
  onChange,
  ...input
}: {
  label: string;
  hint?: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <div>
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          {...input}
          onChange={(event) => onChange(event.target.checked)}
          className="mt-0.5 size-4 shrink-0 accent-accent"
        />
        <span className="min-w-0 [overflow-wrap:anywhere]">{label}</span>
      </label>
      {hint && <p className="mt-0.5 pl-6 text-xs text-ink3">{hint}</p>}
    </div>
  );
}
