import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { messageOf } from '@/lib/request';

/** Why a request failed, and what to do about it; nothing without an error. */
export function Failure({ error, className }: { error: unknown; className?: string }) {
  if (error === undefined || error === null) return null;
  return (
    <p
      role="alert"
      className={classes(
        'rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]',
        className,
      )}
    >
      {escapeControlCharacters(messageOf(error))}
    </p>
  );
}
