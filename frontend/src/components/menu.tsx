import type { LucideIcon } from 'lucide-react';
import { Check } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { classes } from '@/lib/class-names';
import { usePortalHome } from '@/lib/dialog-portal';

export interface MenuItem {
  text: string;
  icon?: LucideIcon;
  /** Whether a checkable item is checked; the menu stays open when it is selected. */
  checked?: boolean;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

const itemLook =
  'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover';

/** A menu below its trigger. */
export function Menu({
  items,
  align = 'end',
  children,
}: {
  items: (MenuItem | { heading: string })[];
  /** The edge of the trigger that it is aligned with. */
  align?: 'start' | 'end';
  children: ReactNode;
}) {
  const home = usePortalHome();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{children}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={home}>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-40 max-h-(--radix-dropdown-menu-content-available-height) min-w-40 overflow-y-auto rounded-lg border bg-panel p-1 shadow-float"
        >
          {items.map((item) =>
            'heading' in item ? (
              <DropdownMenu.Label
                key={item.heading}
                className="px-2 pt-2 pb-1 text-xs font-semibold text-ink3 first:pt-1"
              >
                {item.heading}
              </DropdownMenu.Label>
            ) : item.checked === undefined ? (
              <DropdownMenu.Item
                key={item.text}
                disabled={item.disabled ?? false}
                onSelect={item.onSelect}
                className={classes(itemLook, item.danger && 'text-bad')}
              >
                {item.icon && (
                  <item.icon
                    className={classes('size-4', !item.danger && 'text-ink3')}
                    aria-hidden
                  />
                )}
                {item.text}
              </DropdownMenu.Item>
            ) : (
              <DropdownMenu.CheckboxItem
                key={item.text}
                checked={item.checked}
                disabled={item.disabled ?? false}
                onSelect={(event) => {
                  event.preventDefault();
                  item.onSelect();
                }}
                className={itemLook}
              >
                <Check
                  className={classes('size-4 text-accent', !item.checked && 'invisible')}
                  aria-hidden
                />
                {item.text}
              </DropdownMenu.CheckboxItem>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
