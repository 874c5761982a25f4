import type { ComponentProps } from 'react';
import { classes } from '@/lib/classes';

/** A box that scrolls, also by keyboard: browsers do not let the focus into one by themselves everywhere. */
export function ScrollArea({ className, ...rest }: ComponentProps<'section'>) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it
      tabIndex={0}
      className={classes('scroll-area outline-offset-[-2px]', className)}
      {...rest}
    />
  );
}
