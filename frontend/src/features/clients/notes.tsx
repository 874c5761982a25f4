import { escapeControlCharacters } from '@/lib/format';

/** Sentences about the result of a change that need no attention. */
export function Notes({ notes }: { notes: string[] }) {
  return (notes ?? []).map((note) => (
    <p key={note} className="mt-1 text-sm text-ink2 [overflow-wrap:anywhere]">
      {escapeControlCharacters(note.slice(0, 400))}
    </p>
  ));
}
