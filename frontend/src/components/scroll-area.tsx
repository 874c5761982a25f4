import type { ComponentProps } from 'react';
import { classes } from '@/lib/class-names';

/** A scrollable box that can be focused: not all browsers make it focusable. */
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
