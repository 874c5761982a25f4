import { Labelled } from '@/components/fields';
import { cut, escapeControlCharacters } from '@/lib/format';
import { quoted } from '@/lib/shell-words';

/** A complete command line as a shell would take it: this is what the user agrees to. */
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
      <code className="block rounded-md border bg-sunken px-3 py-1.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
        {shown.map((word) => quoted(escapeControlCharacters(word))).join(' ')}
        {words.length > shown.length && ' …'}
      </code>
    </Labelled>
  );
}
