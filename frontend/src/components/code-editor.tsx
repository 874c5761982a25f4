import { useRef } from 'react';
import { classes } from '@/lib/classes';

/**
 * A plain editor with line numbers. The well-known ones write style elements, which
 * the page's policy forbids.
 */
export function CodeEditor({
  label,
  value,
  onChange,
  onSave,
  marked,
  describedBy,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Ctrl+S, or Cmd+S. */
  onSave: () => void;
  /** Numbers of lines that need attention, from 1. */
  marked: Set<number>;
  describedBy?: string;
}) {
  const gutter = useRef<HTMLDivElement>(null);
  const lines = value.split('\n');
  return (
    <div className="flex h-[32rem] max-h-[70vh] overflow-hidden rounded-md border border-strong bg-sunken font-mono text-xs leading-5 focus-within:outline-2 focus-within:outline-accent">
      <div
        ref={gutter}
        aria-hidden
        className="w-11 shrink-0 overflow-hidden border-r py-2 text-right text-ink3 select-none"
      >
        {lines.map((_, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
            key={index}
            className={classes('px-2', marked.has(index + 1) && 'bg-bad-soft font-bold text-bad')}
          >
            {index + 1}
          </div>
        ))}
        <div className="h-10" />
      </div>
      <textarea
        aria-label={label}
        aria-describedby={describedBy}
        value={value}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        onScroll={(event) => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
        onKeyDown={(event) => {
          if (event.key === 's' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            onSave();
          }
        }}
        className="scroll-area min-w-0 flex-1 resize-none bg-transparent px-3 py-2 whitespace-pre outline-none"
      />
    </div>
  );
}
