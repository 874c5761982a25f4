import { classes } from '@/lib/class-names';
import { cut, escapeControlCharacters } from '@/lib/format';

/**
 * The server before the name of a tool, in a line that is truncated at its end: a long name is
 * truncated itself, so that it never hides the tool. `limit` must be empty where the line is only as
 * wide as its text, because it would also shorten short names.
 */
export function ServerPrefix({ label, limit = 'max-w-[55%]' }: { label: string; limit?: string }) {
  return (
    <>
      <span className={classes('inline-block truncate align-bottom text-ink3', limit)}>
        {escapeControlCharacters(cut(label, 40))}
      </span>
      <span className="text-ink3"> / </span>
    </>
  );
}
