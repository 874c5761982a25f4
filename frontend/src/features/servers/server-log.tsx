import { useEffect, useRef } from 'react';
import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/classes';
import { clock, exactTime, logText } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { LogLine } from '@/types/api';

const colors: Record<string, string> = {
  error: 'text-bad',
  warn: 'text-warn',
  warning: 'text-warn',
  debug: 'text-ink3',
};

/** The newest lines of a server's log. Stays at the end unless somebody scrolled up. */
export function ServerLog({ lines }: { lines: LogLine[] }) {
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  const now = useNow();
  const last = lines.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the newest line
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [last?.at, last?.text, lines.length]);

  if (lines.length === 0) return <p className="text-sm text-ink3">{texts.servers.logEmpty}</p>;
  return (
    <ScrollArea
      ref={box}
      aria-label={texts.servers.log}
      onScroll={(event) => {
        const at = event.currentTarget;
        atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < 24;
      }}
      className="max-h-96 rounded-md border bg-sunken p-2 font-mono text-xs"
    >
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: equal lines may repeat
        <div key={index} className="flex gap-3 py-px">
          <time dateTime={line.at} title={exactTime(line.at)} className="shrink-0 text-ink3">
            {clock(line.at, now)}
          </time>
          <span
            className={classes(
              'min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]',
              colors[line.level?.toLowerCase()],
            )}
          >
            {logText(line.text.slice(0, 4000))}
          </span>
        </div>
      ))}
    </ScrollArea>
  );
}
