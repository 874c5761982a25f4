import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/classes';
import { plain } from '@/lib/format';

const shown = 2000;
const signs: Record<string, string> = {
  '+': 'bg-ok-soft text-ok',
  '-': 'bg-bad-soft text-bad',
  '@': 'text-ink3',
};

/** A unified diff; what goes and what comes is told by its sign as well as by colour. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  return (
    <ScrollArea
      aria-label={label}
      className="max-h-96 rounded-md border bg-sunken py-2 font-mono text-xs leading-[1.6]"
    >
      {diff
        .replace(/\n$/, '')
        .split('\n')
        .slice(0, shown)
        .map((line, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
            key={index}
            className={classes(
              // What needs a second line goes on behind the sign.
              'min-h-[1.6em] pr-3 pl-[calc(0.75rem+2ch)] -indent-[2ch] whitespace-pre-wrap [overflow-wrap:anywhere]',
              signs[/^(\+\+\+|---) /.test(line) && index < 2 ? '@' : line.charAt(0)],
            )}
          >
            {plain(line.slice(0, 4000))}
          </div>
        ))}
    </ScrollArea>
  );
}
