import { classes } from '@/lib/classes';

/** Something that is on or off. */
export function Switch({
  label,
  on,
  disabled = false,
  onChange,
}: {
  label: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!on)}
      className={classes(
        'h-5 w-9 shrink-0 rounded-full border p-0.5 transition-colors disabled:opacity-50',
        on ? 'border-accent bg-accent' : 'border-strong bg-sunken',
      )}
    >
      <span
        className={classes(
          'block size-3.5 rounded-full transition-transform',
          on ? 'translate-x-4 bg-on-accent' : 'bg-ink3',
        )}
      />
    </button>
  );
}
