import { classes } from '@/lib/class-names';
import { clockSpan, moment } from '@/lib/format';
import { useNow } from '@/lib/now';

/** Counts down to the expiry of an approval; shows nothing if it does not expire. */
export function TimeLeft({ expires, text }: { expires: string; text: (left: string) => string }) {
  const end = moment(expires);
  const now = useNow();
  if (end === undefined) return null;
  const left = Math.max(0, Math.round((end - now) / 1000));
  return (
    // An answered card stays for a moment, and waits no longer.
    <span className={classes('in-[[inert]]:hidden', left < 20 && 'font-medium text-bad')}>
      {left > 0 ? text(clockSpan(left)) : 'Expired'}
    </span>
  );
}
