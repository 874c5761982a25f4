import { type JsonLine, jsonElements, jsonMembers, jsonString, type Token } from './json-text';

/**
 * Lays JSON text out as YAML that means the same. Numbers stay the digits that were sent,
 * which a library that parses would not give. At most maxLines lines are made.
 */
export function yamlLines(
  text: string,
  maxLines = Number.POSITIVE_INFINITY,
): { lines: JsonLine[]; cut: boolean } {
  const lines: JsonLine[] = [];
  for (const line of layOut(text.trim(), 0, [], 0, 0)) {
    if (lines.length >= maxLines) return { lines, cut: true };
    lines.push(line);
  }
  return { lines, cut: false };
}

/** The same as plain text, for the clipboard. */
export function formatYaml(text: string): string {
  return yamlLines(text)
    .lines.map(({ depth, tokens }) => {
      const line = tokens.map((token) => token.text).join('');
      return line && '  '.repeat(depth) + line;
    })
    .join('\n');
}

/** Deeper than this a value stays in its braces, which YAML reads as well. */
const deepest = 24;

const mark = (text: string): Token => ({ kind: 'mark', text });

/**
 * The lines of a value: the first begins at depth with lead, those that belong to the same
 * collection begin at inner.
 */
function* layOut(
  raw: string,
  depth: number,
  lead: Token[],
  inner: number,
  level: number,
): Generator<JsonLine> {
  const members = raw.startsWith('{') ? jsonMembers(raw) : undefined;
  const elements = raw.startsWith('[') ? jsonElements(raw) : undefined;
  if (level > deepest || (!members?.size && !elements?.length)) {
    yield* scalar(raw, depth, lead, inner);
    return;
  }
  let at = depth;
  let before = lead;
  for (const [name, value] of members ?? []) {
    const key: Token[] = [...before, { kind: 'key', text: word(name) }];
    if (holds(value) && level < deepest) {
      yield { depth: at, tokens: [...key, mark(':')] };
      yield* layOut(value, inner + 1, [], inner + 1, level + 1);
    } else yield* scalar(value, at, [...key, mark(': ')], inner + 1);
    at = inner;
    before = [];
  }
  for (const value of elements ?? []) {
    yield* layOut(value, at, [...before, mark('- ')], inner + 1, level + 1);
    at = inner;
    before = [];
  }
}

/** Whether a value is a collection with something in it. */
function holds(raw: string): boolean {
  return /^(\{|\[)\s*[^\s}\]]/.test(raw);
}

function* scalar(raw: string, depth: number, lead: Token[], inner: number): Generator<JsonLine> {
  const said = jsonString(raw);
  if (said === undefined) {
    const kind = /^[-0-9]/.test(raw) ? 'number' : /^[tfn]/.test(raw) ? 'word' : 'mark';
    yield { depth, tokens: [...lead, { kind, text: raw.replace(/\s*\n\s*/g, ' ') }] };
    return;
  }
  if (inner === 0 || !isBlock(said)) {
    yield { depth, tokens: [...lead, { kind: 'string', text: word(said) }] };
    return;
  }
  const ends = /\n*$/.exec(said)?.[0].length ?? 0;
  yield { depth, tokens: [...lead, mark(ends === 0 ? '|-' : ends === 1 ? '|' : '|+')] };
  const body = ends === 0 ? said : said.slice(0, -1);
  for (const line of body.split('\n'))
    yield { depth: inner, tokens: [{ kind: 'string', text: line }] };
}

/** Text of several lines that can stand as it is. */
function isBlock(text: string): boolean {
  return /^[^\s][^\n]*\n/.test(text) && !/[^\P{C}\n\t]|[\u2028\u2029]/u.test(text);
}

/** A string as one word of YAML: bare when nothing else could be meant by it. */
function word(text: string): string {
  const bare =
    text.length < 4000 &&
    /^[\p{L}_/]/u.test(text) &&
    !/: |:$| #|\s$|[\p{C}\u2028\u2029]/u.test(text) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return bare ? text : JSON.stringify(text);
}
