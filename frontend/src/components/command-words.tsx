import { Labelled } from '@/components/fields';
import { More } from '@/components/more';
import { cut, escapeControlCharacters } from '@/lib/format';

/** A complete command line, one argument per line: this is what the user agrees to. */
export function CommandWords({
  words,
  label,
  limited = false,
}: {
  words: string[];
  label: string;
  /** Shows at most 300 arguments of 4,000 characters. */
  limited?: boolean;
}) {
  const shown = limited ? words.slice(0, 300).map((word) => cut(word, 4000)) : words;
  return (
    <Labelled label={label}>
      <ol
        aria-label={label}
        className="rounded-md border bg-sunken py-1.5 font-mono text-xs leading-[1.7]"
      >
        {shown.map((word, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: arguments have no other identity
          <li key={index} className="flex gap-3 px-3">
            <span aria-hidden className="w-5 shrink-0 text-right text-ink3 select-none">
              {index}
            </span>
            <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {escapeControlCharacters(word)}
            </span>
          </li>
        ))}
      </ol>
      <More of={words.length} shown={shown.length} />
    </Labelled>
  );
}
