import type { ReactNode } from 'react';
import { Labelled } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';

/** A complete command line, one argument per line: this is what the user agrees to. */
export function CommandWords({ words, label }: { words: string[]; label: string }) {
  return (
    <Labelled label={label}>
      <ol
        aria-label={label}
        className="rounded-md border bg-sunken py-1.5 font-mono text-xs leading-[1.7]"
      >
        {words.slice(0, 300).map((word, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: arguments have no other identity
          <li key={index} className="flex gap-3 px-3">
            <span aria-hidden className="w-5 shrink-0 text-right text-ink3 select-none">
              {index}
            </span>
            <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {escapeControlCharacters(word.slice(0, 4000))}
            </span>
          </li>
        ))}
      </ol>
    </Labelled>
  );
}

export function Note({
  tone,
  children,
  role,
}: {
  tone: 'warn' | 'bad';
  children: ReactNode;
  role?: 'alert' | 'status';
}) {
  return (
    <div
      role={role}
      className={`rounded-md px-3 py-2 text-sm [overflow-wrap:anywhere] ${tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-warn-soft text-warn'}`}
    >
      {children}
    </div>
  );
}
