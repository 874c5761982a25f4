import { Tooltip } from 'radix-ui';
import type { ComponentProps, ReactNode } from 'react';
import { useJustMoved } from '@/components/guarded-list';
import { classes } from '@/lib/class-names';
import { usePortalHome } from '@/lib/dialog-portal';

type Look = 'primary' | 'secondary' | 'quiet' | 'danger';

const looks: Record<Look, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover border-transparent',
  secondary: 'bg-panel text-ink border-strong hover:bg-hover',
  quiet: 'bg-transparent text-ink2 border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-panel text-bad border-strong hover:bg-bad-soft',
};

const shape =
  'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-50 aria-disabled:opacity-50';

/** The class names of a button, for links that look like one. */
export function buttonClasses(look: Look = 'secondary', small = false): string {
  return classes(shape, looks[look], small ? 'h-7 px-2 text-xs' : 'h-8 px-3 text-sm');
}

export function Button({
  look = 'secondary',
  small = false,
  className,
  type = 'button',
  ...rest
}: ComponentProps<'button'> & { look?: Look; small?: boolean }) {
  const ignored = useJustMoved() || undefined;
  return (
    <button
      type={type}
      aria-disabled={ignored}
      className={classes(buttonClasses(look, small), className)}
      {...rest}
    />
  );
}

/** A button that shows only an icon; its label is its name and its tooltip. */
export function IconButton({
  label,
  look = 'quiet',
  small = false,
  className,
  type = 'button',
  ...rest
}: ComponentProps<'button'> & { label: string; look?: Look; small?: boolean }) {
  const ignored = useJustMoved() || undefined;
  return (
    <Hint text={label}>
      <button
        type={type}
        aria-label={label}
        aria-disabled={ignored}
        className={classes(shape, looks[look], small ? 'size-7' : 'size-8', className)}
        {...rest}
      />
    </Hint>
  );
}

function Hint({ text, children }: { text: string; children: ReactNode }) {
  const home = usePortalHome();
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal container={home}>
        <Tooltip.Content
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-w-xs rounded-md bg-ink px-2 py-1 text-xs text-canvas shadow-float"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
