import { Fragment } from 'react';
import { searchText } from './filters';

const wordPattern = /[\p{L}\p{N}\p{Co}\p{Mn}]+\*?/gu;

/** A pattern for the words of a search, as in the daemon: whole words, or word* as a prefix. */
export function searchPattern(q: string | undefined): RegExp | undefined {
  const words = (searchText(q ?? '').match(wordPattern) ?? []).slice(0, 32);
  if (words.length === 0) return undefined;
  const parts = words.map((w) => (w.endsWith('*') ? w.slice(0, -1) : `${w}(?![\\p{L}\\p{N}])`));
  return new RegExp(`(^|[^\\p{L}\\p{N}])(${parts.join('|')})`, 'giu');
}

/** A text with the words of a search highlighted. */
export function SearchHighlight({ text, pattern }: { text: string; pattern: RegExp | undefined }) {
  if (!pattern) return text;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const [whole, before = '', found = ''] = match;
    const start = match.index + before.length;
    if (start > end) parts.push(<Fragment key={end}>{text.slice(end, start)}</Fragment>);
    end = match.index + whole.length;
    parts.push(
      <mark key={`m${start}`} className="rounded-xs bg-warn/25 text-ink">
        {found}
      </mark>,
    );
  }
  return [...parts, text.slice(end)];
}
