import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';

/** Makes characters visible that are not, or that change the order of others: ⟨U+202E⟩. */
export function showHidden(text: string): string {
  return text.replace(
    /[\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]/gu,
    (c) => `⟨U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}

export type EffectText =
  | { kind: 'diff'; diff: string; before: string; after: string }
  | { kind: 'table'; columns: string[]; rows: string[][]; more: number }
  | { kind: 'text' };

const maxRows = 200;
const maxColumns = 12;

/** How the result of a preview is shown: as a diff, as a table of objects, or as text. */
export function readEffect(text: string): EffectText {
  const lines = text.split('\n');
  const start = lines.findIndex(
    (line, at) =>
      line.startsWith('--- ') &&
      lines[at + 1]?.startsWith('+++ ') &&
      lines[at + 2]?.startsWith('@@ '),
  );
  if (start >= 0) {
    const fence = lines.findIndex((line, at) => at > start && /^`{3,}$/.test(line));
    const end = fence < 0 ? lines.length : fence;
    return {
      kind: 'diff',
      diff: lines.slice(start, end).join('\n'),
      before: plain(lines.slice(0, start)),
      after: plain(lines.slice(end)),
    };
  }
  const rows = objectsIn(text);
  if (rows.length === 0) return { kind: 'text' };
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  if (columns.length > maxColumns) return { kind: 'text' };
  return {
    kind: 'table',
    columns,
    rows: rows
      .slice(0, maxRows)
      .map((row) => columns.map((name) => jsonString(row.get(name)) ?? row.get(name) ?? '')),
    more: Math.max(0, rows.length - maxRows),
  };
}

/** Text around a diff, without the fences and headers of other tools. */
const plain = (lines: string[]) =>
  lines
    .filter((line) => !/^(`{3,}\w*|Index: .*|=+)$/.test(line))
    .join('\n')
    .trim();

/** The objects of a list. A list in an object counts only if nothing else is beside it. */
function objectsIn(text: string): Map<string, string>[] {
  const json = text.trim();
  const members = [...(jsonMembers(json)?.values() ?? [])];
  const [only] = members;
  const elements = jsonElements(members.length === 1 && only ? only : json) ?? [];
  const rows = elements.flatMap((element) => jsonMembers(element) ?? []);
  return rows.length === elements.length ? rows : [];
}
