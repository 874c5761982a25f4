import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { CopyButton } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { SearchField } from '@/components/fields';
import { ScrollArea } from '@/components/scroll-area';
import { SegmentedControl } from '@/components/segmented-control';
import { classes } from '@/lib/class-names';
import { clock, exactTime, logText } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import type { LogLine, ServerDetail } from '@/types/api';
import { type LogLevel, logLevels, logQuery } from './api';

const logLevelsTexts = withoutPrototypes({
  debug: 'All',
  stderr: 'Output',
  lifecycle: 'Events',
  warn: 'Warnings',
  error: 'Errors',
} as const);

const colors: Record<string, string> = {
  error: 'text-bad',
  warn: 'text-warn',
  warning: 'text-warn',
  debug: 'text-ink3',
  lifecycle: 'text-accent',
  info: 'text-accent',
};

/** The log of a server with filters. */
export function LogView({ server }: { server: ServerDetail }) {
  const [level, setLevel] = useState<LogLevel>('debug');
  const [text, setText] = useState('');
  const log = useQuery({ ...logQuery(server.id, level), placeholderData: keepPreviousData });
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const lines = (log.data ?? server.log ?? []).filter((line) =>
    words.every((word) => line.text.toLowerCase().includes(word)),
  );
  return (
    <div className="flex min-h-80 flex-1 flex-col gap-3 px-4 py-4 md:px-5">
      <div className="@container flex flex-wrap items-center gap-2">
        <SegmentedControl
          label="Log level"
          value={level}
          options={logLevels.map((value) => ({ value, text: logLevelsTexts[value] }))}
          onChange={setLevel}
        />
        <div className="flex min-w-40 flex-1 items-center gap-2">
          <SearchField label="Search the log" value={text} onChange={setText} delayMs={80} />
          <CopyButton
            label="Copy log"
            text={() =>
              lines.map((line) => `${line.at} ${line.level} ${logText(line.text)}`).join('\n')
            }
          />
        </div>
      </div>
      <Failure error={log.error} />
      <ServerLog lines={lines} className="min-h-0 flex-1" />
    </div>
  );
}

/** The newest lines of a server's log. It stays scrolled to the end unless the user scrolls up. */
function ServerLog({ lines, className }: { lines: LogLine[]; className: string }) {
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  const now = useNow();
  const last = lines.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the newest line
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [last?.at, last?.text, lines.length]);

  if (lines.length === 0) return <p className="text-sm text-ink3">No output yet.</p>;
  return (
    <ScrollArea
      ref={box}
      aria-label="Log"
      onScroll={(event) => {
        const at = event.currentTarget;
        atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < 24;
      }}
      className={classes('rounded-md border bg-sunken p-2 font-mono text-xs', className)}
    >
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines can be equal
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
