import { classes } from '@/lib/classes';

/** The mark: two towers and the bridge between them, the same drawing as the program's icon. */
export function Logo({ className }: { className?: string }) {
  return <img src="./icon.svg" alt="" className={classes('shrink-0', className)} />;
}
