import { useEffect, useId, useRef, useState } from 'react';
import { classes } from '@/lib/classes';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';

export interface Completion {
  /** What the list shows, and a word on it. */
  text: string;
  note: string;
  insert: string;
  /** The span that it replaces. */
  from: number;
  to: number;
}

const most = 8;

/**
 * A plain editor with line numbers and completion. The well-known ones write style
 * elements, which the page's policy forbids.
 */
export function CodeEditor({
  label,
  value,
  onChange,
  onSave,
  marked,
  complete,
  describedBy,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Ctrl+S, or Cmd+S. */
  onSave: () => void;
  /** Numbers of lines that need attention, from 1. */
  marked: Set<number>;
  /** What could stand at a place of the text. */
  complete?: (text: string, at: number) => Completion[];
  describedBy?: string;
}) {
  const gutter = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const [menu, setMenu] = useState<{ list: Completion[]; at: number } | undefined>(undefined);
  const [chosen, setChosen] = useState(0);
  const lines = value.split('\n');

  const propose = (asked: boolean) => {
    const box = area.current;
    if (!box || box.selectionStart !== box.selectionEnd) return setMenu(undefined);
    const at = box.selectionStart;
    const list = complete?.(box.value, at).slice(0, most) ?? [];
    // By itself only while a word is typed, and not when it stands there already.
    const typing = list.some((one) => one.from < at);
    const [only] = list;
    const there = list.length === 1 && only && box.value.slice(only.from, only.to) === only.insert;
    setMenu(list.length > 0 && !there && (asked || typing) ? { list, at } : undefined);
    setChosen(0);
  };
  const take = (one: Completion | undefined) => {
    const box = area.current;
    if (!box || !one) return;
    box.focus();
    box.setSelectionRange(one.from, one.to);
    // The browser's own way keeps its undo.
    if (!document.execCommand('insertText', false, one.insert)) {
      box.setRangeText(one.insert, one.from, one.to, 'end');
      onChange(box.value);
    }
    setMenu(undefined);
  };

  // What was typed is in the value by now.
  const typed = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks when the text changed
  useEffect(() => {
    if (!typed.current) return;
    typed.current = false;
    propose(false);
  }, [value]);

  const place = menu && placeOf(value, menu.at);
  return (
    <div className="relative">
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
          ref={area}
          aria-label={label}
          aria-describedby={describedBy}
          aria-autocomplete={complete ? 'list' : undefined}
          aria-controls={menu ? id : undefined}
          aria-activedescendant={menu ? `${id}-${chosen}` : undefined}
          value={value}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          onChange={(event) => {
            typed.current = true;
            onChange(event.target.value);
          }}
          onBlur={() => setMenu(undefined)}
          onClick={() => setMenu(undefined)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
            setMenu(undefined);
          }}
          onKeyDown={(event) => {
            if (event.key === 's' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              onSave();
            } else if (event.key === ' ' && event.ctrlKey) {
              event.preventDefault();
              propose(true);
            } else if (!menu) return;
            else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
              event.preventDefault();
              const by = event.key === 'ArrowDown' ? 1 : menu.list.length - 1;
              setChosen((old) => (old + by) % menu.list.length);
            } else if (event.key === 'Enter' || event.key === 'Tab') {
              event.preventDefault();
              take(menu.list[chosen]);
            } else if (event.key === 'Escape') {
              event.preventDefault();
              setMenu(undefined);
            } else if (event.key.startsWith('Arrow') || event.key === 'Home' || event.key === 'End')
              setMenu(undefined);
          }}
          className="scroll-area min-w-0 flex-1 resize-none bg-transparent px-3 py-2 whitespace-pre outline-none"
        />
      </div>
      {menu && place && (
        <div
          id={id}
          role="listbox"
          aria-label={texts.editor.proposals}
          style={{
            left: `min(calc(${place.column}ch + 3.5rem - ${area.current?.scrollLeft ?? 0}px), calc(100% - 20rem))`,
            top: `${place.line * 20 + 30 - (area.current?.scrollTop ?? 0)}px`,
          }}
          className="absolute z-20 w-80 max-w-full overflow-hidden rounded-md border bg-panel py-1 font-mono text-xs shadow-float"
        >
          {menu.list.map((one, index) => (
            <div
              key={one.text}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              onMouseDown={(event) => {
                event.preventDefault(); // the focus stays in the text
                take(one);
              }}
              className="px-3 py-1 aria-selected:bg-accent-soft"
            >
              <span className="block truncate font-medium">{plain(one.text)}</span>
              {one.note && <span className="block truncate font-sans text-ink3">{one.note}</span>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Line and column of a place in the text, from 0. */
function placeOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split('\n');
  return { line: before.length - 1, column: before.at(-1)?.length ?? 0 };
}
