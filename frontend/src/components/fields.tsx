import { ChevronDown, Search, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { classes } from '@/lib/class-names';
import { useWideScreen } from '@/lib/wide-screen';

/**
 * A search box that reports its text after a short pause in typing. "/" anywhere on the page
 * focuses it, Escape clears it.
 */
export function SearchField({
  value,
  onChange,
  label,
  hint,
  onEnter,
  delayMs = 250,
}: {
  value: string;
  onChange: (value: string) => void;
  label: string;
  /** A tooltip: the syntax of the text. */
  hint?: string;
  /** Returns the text that remains in the box. */
  onEnter?: (text: string) => string;
  delayMs?: number;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const input = useRef<HTMLInputElement>(null);

  // The URL changed (Back, a link): show its text.
  useEffect(() => {
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);

  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      if (text === sent.current) return; // Enter was faster
      sent.current = text;
      onChange(text);
    }, delayMs);
    return () => clearTimeout(timer);
  }, [text, onChange, delayMs]);

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
    };
    window.addEventListener('keydown', focus);
    return () => window.removeEventListener('keydown', focus);
  }, []);

  return (
    <div className="relative min-w-40 @max-2xl:w-full @2xl:max-w-72 @2xl:flex-1">
      <Search
        className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink3"
        aria-hidden
      />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        title={hint}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault(); // a form around it is not submitted
          if (event.key === 'Enter' && onEnter) {
            const rest = onEnter(text);
            sent.current = rest;
            setText(rest);
          }
          if (event.key === 'ArrowDown') {
            event.preventDefault();
            document.querySelector<HTMLElement>('#main a:is([data-call], [data-row])')?.focus();
          }
          if (event.key === 'Escape' && text !== '') {
            event.stopPropagation();
            setText('');
          }
        }}
        className="h-8 w-full appearance-none rounded-md border border-strong bg-panel pr-8 pl-8 text-sm text-ink placeholder:text-ink3"
      />
      {text !== '' && (
        <button
          type="button"
          aria-label="Clear"
          onClick={() => {
            setText('');
            input.current?.focus();
          }}
          className="absolute top-1 right-1 rounded p-1 text-ink3 hover:bg-hover hover:text-ink"
        >
          <X className="size-4" aria-hidden />
        </button>
      )}
    </div>
  );
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

export function SelectField({
  label,
  value,
  onChange,
  options,
  narrows = true,
  uncut = false,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: { value: string; text: string }[];
  /** Whether the selection hides something, and is therefore highlighted. */
  narrows?: boolean;
  /** Whether the field is always as wide as its widest option. */
  uncut?: boolean;
}) {
  return (
    <div
      className={classes(
        'relative max-w-full min-w-0 @2xl:w-fit',
        uncut ? '@max-2xl:flex-auto' : '@max-2xl:flex-1 @max-2xl:basis-32',
      )}
    >
      <select
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={classes(
          'h-8 max-w-full appearance-none @2xl:max-w-64 @max-2xl:w-full truncate rounded-md border bg-panel pr-7 pl-2.5 text-sm text-ink',
          narrows && value !== '' && options[0]?.value === '' ? 'border-accent' : 'border-strong',
        )}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text.slice(0, 80)}
          </option>
        ))}
      </select>
      <SelectChevron />
    </div>
  );
}

/** The arrow of a select without its native appearance, in a relative parent that is as wide. */
export function SelectChevron() {
  return (
    <ChevronDown
      className="pointer-events-none absolute top-2 right-2 size-4 text-ink3"
      aria-hidden
    />
  );
}

/** Content below its label in small grey text. */
export function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <p className="mb-1 text-xs text-ink3">{label}</p>
      {children}
    </div>
  );
}

/** Labels with values. Rows without a value are omitted. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      {rows
        .filter(
          ([, value]) => value !== undefined && value !== null && value !== '' && value !== false,
        )
        .map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-ink3">{label}</dt>
            <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}) {
  const Heading = useWideScreen() ? 'h3' : 'h2'; // one level below the title of the detail
  return (
    <section className="border-t px-4 py-4 first:border-t-0 md:px-5">
      <div className="mb-2 flex min-h-7 items-center gap-2">
        <Heading className="text-xs font-semibold tracking-wide text-ink3 uppercase">
          {title}
        </Heading>
        {aside && <div className="ml-auto flex min-w-0 items-center gap-1">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
