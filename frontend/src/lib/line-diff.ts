/** The most cells of the table that finds what two texts share: beyond it they are told apart as a whole. */
const most = 1_000_000;

/** How `after` differs from `before`: what goes has a '-', what comes a '+'. '' when no line differs. */
export function lineDiff(before: string, after: string): string {
  const a = before.split(/\r?\n/);
  const b = after.split(/\r?\n/);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  return between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).join('\n');
}

function between(a: string[], b: string[]): string[] {
  const gone = (lines: string[]) => lines.map((line) => `-${line}`);
  const come = (lines: string[]) => lines.map((line) => `+${line}`);
  if (a.length * b.length > most) return [...gone(a), ...come(b)];
  // common[i][j]: how many lines the rest of a from i and of b from j have in common.
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      out.push(` ${a[i++]}`);
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) out.push(`-${a[i++]}`);
    else out.push(`+${b[j++]}`);
  }
  return [...out, ...gone(a.slice(i)), ...come(b.slice(j))];
}
