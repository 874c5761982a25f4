/** One line of a unified diff without its sign. */
export interface DiffLine {
  kind: 'same' | 'removed' | 'added' | 'hunk';
  text: string;
}

/** The changes of one file. The path is empty if the diff does not contain one. */
export interface FileDiff {
  path: string;
  lines: DiffLine[];
}

const kinds: Record<string, DiffLine['kind']> = { '+': 'added', '-': 'removed', '@': 'hunk' };

/**
 * Splits a unified diff into its files. The counts of each hunk tell where it ends, so that a
 * removed line "-- x" is not the header of a file.
 */
export function parseUnifiedDiff(diff: string): FileDiff[] {
  const files: FileDiff[] = [];
  let file: FileDiff | undefined;
  let before = 0; // the lines that the hunk still has of each side
  let after = 0;
  const lines = diff.replace(/\r?\n$/, '').split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const inHunk = before > 0 || after > 0;
    if (!inHunk && /^--- /.test(line) && /^\+\+\+ /.test(lines[at + 1] ?? '')) {
      at++;
      file = { path: (lines[at] ?? '').slice(4), lines: [] };
      files.push(file);
      continue;
    }
    if (line.startsWith('\\') || (!inHunk && line === '')) continue;
    if (!file) {
      file = { path: '', lines: [] };
      files.push(file);
    }
    const kind = kinds[line.charAt(0)] ?? 'same';
    file.lines.push({ kind, text: kind === 'hunk' ? line : line.slice(1) });
    const counts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (counts) {
      before = Number(counts[1] ?? 1);
      after = Number(counts[2] ?? 1);
    } else {
      if (kind !== 'added') before--;
      if (kind !== 'removed') after--;
    }
  }
  return files;
}
