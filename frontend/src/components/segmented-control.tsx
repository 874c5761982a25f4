import type { LucideIcon } from 'lucide-react';
import { Tabs as RadixTabs, ToggleGroup } from 'radix-ui';
import type { ReactNode } from 'react';
import { classes } from '@/lib/class-names';

interface Choice<Value extends string> {
  label: string;
  options: { value: Value; text: string }[];
}

const frame = 'inline-flex flex-wrap rounded-lg border bg-sunken p-0.5';
/** If they need two lines on a phone, both lines are full. */
const halves = (n: number) => n > 5 && (n > 6 ? 'max-sm:basis-[22%]' : 'max-sm:basis-[30%]');
const item =
  'grow rounded-md px-1.5 py-1 text-xs whitespace-nowrap text-ink2 hover:text-ink sm:px-2.5';
const largeItem = 'flex items-center gap-1.5 rounded-md px-3 py-1.5 text-sm text-ink2';

/** A few options side by side, one of which is selected. */
export function SegmentedControl<Value extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  options: { value: Value; text: string; icon?: LucideIcon }[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      onValueChange={(next) => next && onChange(next as Value)}
      className={frame}
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          className={classes(
            option.icon ? largeItem : item,
            !option.icon && halves(options.length),
            'data-[state=on]:bg-panel data-[state=on]:font-medium data-[state=on]:text-ink data-[state=on]:shadow-card dark:data-[state=on]:bg-line',
          )}
        >
          {option.icon && <option.icon className="size-4" aria-hidden />}
          {option.text}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}

/** Views of the same object: a TabList, and a TabPanel for the selected one. */
export function Tabs<Value extends string>({
  value,
  onChange,
  className,
  children,
}: {
  value: Value;
  onChange: (value: Value) => void;
  className: string;
  children: ReactNode;
}) {
  return (
    <RadixTabs.Root
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className={className}
    >
      {children}
    </RadixTabs.Root>
  );
}

export function TabList<Value extends string>({ label, options }: Choice<Value>) {
  return (
    <RadixTabs.List aria-label={label} className={frame}>
      {options.map((option) => (
        <RadixTabs.Trigger
          key={option.value}
          value={option.value}
          className={classes(
            item,
            halves(options.length),
            'data-[state=active]:bg-panel data-[state=active]:font-medium data-[state=active]:text-ink data-[state=active]:shadow-card dark:data-[state=active]:bg-line',
          )}
        >
          {option.text}
        </RadixTabs.Trigger>
      ))}
    </RadixTabs.List>
  );
}

export function TabPanel({
  value,
  className,
  children,
}: {
  value: string;
  className?: string | undefined;
  children: ReactNode;
}) {
  return (
    <RadixTabs.Content value={value} tabIndex={-1} className={classes(className, 'outline-none')}>
      {children}
    </RadixTabs.Content>
  );
}
