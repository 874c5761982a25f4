import { classes } from '@/lib/classes';

/** A few choices side by side, one of them taken. */
export function Segments<Value extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  options: { value: Value; text: string }[];
}) {
  return (
    <fieldset
      aria-label={label}
      className="inline-flex flex-wrap rounded-lg border bg-sunken p-0.5"
    >
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
          className={classes(
            // Where they need two lines, both are full, and none stands alone.
            'grow rounded-md px-1.5 py-1 text-xs whitespace-nowrap sm:px-2.5',
            options.length > 5 && 'max-sm:basis-[30%]',
            option.value === value
              ? 'bg-panel font-medium text-ink shadow-card dark:bg-line'
              : 'text-ink2 hover:text-ink',
          )}
        >
          {option.text}
        </button>
      ))}
    </fieldset>
  );
}
