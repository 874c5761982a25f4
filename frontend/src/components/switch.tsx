import { Switch as RadixSwitch } from 'radix-ui';

/** A switch that is on or off. */
export function Switch({
  id,
  label,
  on,
  disabled = false,
  onChange,
}: {
  id?: string;
  label: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <RadixSwitch.Root
      id={id}
      aria-label={label}
      checked={on}
      disabled={disabled}
      onCheckedChange={onChange}
      className="h-5 w-9 shrink-0 rounded-full border border-strong bg-sunken p-0.5 transition-colors disabled:opacity-50 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
    >
      <RadixSwitch.Thumb className="block size-3.5 rounded-full bg-ink3 transition-transform data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent" />
    </RadixSwitch.Root>
  );
}
