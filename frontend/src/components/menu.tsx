import type { LucideIcon } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { classes } from '@/lib/classes';
import { usePortalHome } from '@/lib/portal';

export interface MenuItem {
  text: string;
  icon: LucideIcon;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

/** A menu that drops from its trigger. */
export function Menu({
  items,
  align = 'end',
  children,
}: {
  items: MenuItem[];
  /** Which edge of the trigger it keeps to. */
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
          className="z-40 min-w-40 rounded-lg border bg-panel p-1 shadow-float"
        >
          {items.map(({ text, icon: Icon, onSelect, danger, disabled }) => (
            <DropdownMenu.Item
              key={text}
              disabled={disabled}
              onSelect={onSelect}
              className={classes(
                'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover',
                danger && 'text-bad',
              )}
            >
              <Icon className={classes('size-4', !danger && 'text-ink3')} aria-hidden />
              {text}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
