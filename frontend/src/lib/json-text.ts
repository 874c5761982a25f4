/**
 * Works on JSON as text. Nothing here turns a number into a JavaScript number, so
 * 9007199254740993, 1.0 and 1e400 are shown as they were sent.
 */

export type TokenKind = 'key' | 'string' | 'number' | 'word' | 'mark' | 'junk';

export interface Token {
  kind: TokenKind;
  text: string;
}

/** One line of pretty-printed JSON: how deep it is indented, and what stands there. */
export interface JsonLine {
  depth: number;
  tokens: Token[];
}

interface Piece {
  text: string;
  at: number;
}

const isWord = (c: number) => (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
const isDigit = (c: number) => c >= 48 && c <= 57;

/**
 * Where the string ends whose opening quote is at `at`, or the text does. Looks from quote
 * to quote, not at each character: a result may hold one of many megabytes.
 */
function stringEnd(text: string, at: number): number {
  for (let quote = at; ; ) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return text.length;
    let before = quote;
    while (text.charCodeAt(before - 1) === 92) before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
}

/** Cuts text into lexical pieces, white space left out. Every character ends up in one piece. */
function* pieces(text: string): Generator<Piece> {
  let i = 0;
  while (i < text.length) {
    const at = i;
    const c = text.charCodeAt(i++);
    if (c === 32 || c === 10 || c === 13 || c === 9) continue;
    if (c === 34) {
      i = stringEnd(text, at);
    } else if (isDigit(c) || c === 45) {
      while (i < text.length && (isDigit(text.charCodeAt(i)) || '.eE+-'.includes(text.charAt(i))))
        i++;
    } else if (isWord(c)) {
      while (i < text.length && isWord(text.charCodeAt(i))) i++;
    }
    yield { text: text.slice(at, i), at };
  }
}

function* scan(text: string): Generator<Token> {
  for (const { text: t } of pieces(text)) {
    const c = t.charAt(0);
    if (c === '"') yield { kind: t.length > 1 && t.endsWith('"') ? 'string' : 'junk', text: t };
    else if ((c >= '0' && c <= '9') || (c === '-' && t.length > 1))
      yield { kind: 'number', text: t };
    else if ('{}[],:'.includes(c)) yield { kind: 'mark', text: t };
    else if (t === 'true' || t === 'false' || t === 'null') yield { kind: 'word', text: t };
    else yield { kind: 'junk', text: t };
  }
}

export interface PrettyJson {
  lines: JsonLine[];
  /** Whether lines were left out because of the limit. */
  cut: boolean;
}

/**
 * Lays JSON text out in lines, two-space style, every token spelled as in the
 * source. Text that is not JSON comes out as it is, marked as junk. At most
 * maxLines lines are made, so that a huge answer cannot freeze the page.
 */
export function prettyJson(text: string, maxLines = Number.POSITIVE_INFINITY): PrettyJson {
  const lines: JsonLine[] = [];
  let line: JsonLine = { depth: 0, tokens: [] };
  let depth = 0;
  let cut = false;
  const open: string[] = [];
  const tokens = scan(text);
  let next = tokens.next();

  const flush = () => {
    if (line.tokens.length > 0) lines.push(line);
    line = { depth, tokens: [] };
  };

  while (!next.done) {
    if (lines.length >= maxLines) {
      cut = true;
      break;
    }
    const token = next.value;
    next = tokens.next();
    const following = next.done ? undefined : next.value.text;
    if (token.kind === 'string' && following === ':' && open.at(-1) === '{') {
      line.tokens.push({ kind: 'key', text: token.text });
      continue;
    }
    if (token.kind !== 'mark') {
      line.tokens.push(token);
      continue;
    }
    switch (token.text) {
      case '{':
      case '[': {
        const close = token.text === '{' ? '}' : ']';
        if (following === close) {
          line.tokens.push({ kind: 'mark', text: token.text + close });
          next = tokens.next();
          break;
        }
        line.tokens.push(token);
        open.push(token.text);
        depth++;
        flush();
        break;
      }
      case '}':
      case ']':
        if (open.length > 0) {
          open.pop();
          depth--;
        }
        flush();
        line.depth = depth;
        line.tokens.push(token);
        break;
      case ',':
        line.tokens.push(token);
        flush();
        break;
      default:
        line.tokens.push({ kind: 'mark', text: ': ' });
    }
  }
  if (!cut) flush();
  return { lines, cut };
}

/** Pretty-printed JSON as plain text, for the clipboard and for editors. */
export function formatJson(text: string): string {
  return prettyJson(text)
    .lines.map((line) => '  '.repeat(line.depth) + line.tokens.map((t) => t.text).join(''))
    .join('\n');
}

/**
 * The members of a JSON object, each value as its raw text. Undefined when text is
 * no object. Of a key that stands twice the last one counts, as in JSON.parse.
 */
export function jsonMembers(text: string): Map<string, string> | undefined {
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let start = -1;
  let pending: string | undefined;
  let seenOpen = false;
  for (const { text: t, at } of pieces(text)) {
    if (!seenOpen) {
      if (t !== '{') return undefined;
      seenOpen = true;
      depth = 1;
      continue;
    }
    if (depth === 1 && (t === ',' || t === '}')) {
      if (key !== undefined && start >= 0) members.set(key, text.slice(start, at).trim());
      key = undefined;
      start = -1;
      pending = undefined;
      if (t === '}') return members;
      continue;
    }
    if (depth === 1 && key === undefined) {
      if (t === ':' && pending !== undefined) {
        key = pending;
        start = at + 1;
      } else if (t.charAt(0) === '"') pending = decodeString(t);
      continue;
    }
    if (t === '{' || t === '[') depth++;
    else if (t === '}' || t === ']') depth--;
  }
  return undefined;
}

function decodeString(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

/** The value of a JSON string literal, or undefined when text is something else. */
export function jsonString(text: string | undefined): string | undefined {
  return text?.charAt(0) === '"' ? decodeString(text) : undefined;
}

/** The elements of a JSON array as raw text, or undefined when text is not an array. */
export function jsonElements(text: string): string[] | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) return undefined;
  const elements: string[] = [];
  let depth = 0;
  let start = 1;
  for (const { text: t, at } of pieces(trimmed)) {
    if (t === '{' || t === '[') depth++;
    else if (t === '}' || t === ']') depth--;
    if ((t === ',' && depth === 1) || (t === ']' && depth === 0)) {
      const element = trimmed.slice(start, at).trim();
      if (element !== '') elements.push(element);
      start = at + 1;
    }
  }
  return elements;
}

export interface JsonFault {
  line: number;
  column: number;
}

/** Whether text is one sound JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Where JSON text stops being JSON, or undefined when it is sound. */
export function jsonFault(text: string): JsonFault | undefined {
  if (isJson(text)) return undefined;
  let low = 0;
  let high = text.length;
  // The shortest prefix that cannot be completed any more ends at the fault.
  while (low < high) {
    const middle = (low + high) >> 1;
    if (broken(text.slice(0, middle + 1))) high = middle;
    else low = middle + 1;
  }
  const before = text.slice(0, low).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Whether no continuation can make this prefix valid JSON. */
function broken(prefix: string): boolean {
  const stack: string[] = [];
  let expect: 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'after' = 'value';
  for (const { text: t, at } of pieces(prefix)) {
    const last = at + t.length === prefix.length;
    const top = stack.at(-1);
    if (t === '}' || t === ']') {
      if (top !== (t === '}' ? '{' : '[')) return true;
      if (expect === 'value' || expect === 'key' || expect === 'colon') return true;
      stack.pop();
      expect = 'after';
    } else if (expect === 'after') {
      if (t !== ',' || top === undefined) return true;
      expect = top === '{' ? 'key' : 'value';
    } else if (expect === 'colon') {
      if (t !== ':') return true;
      expect = 'value';
    } else if (expect === 'key' || expect === 'keyOrEnd') {
      if (t.charAt(0) !== '"' || !(last || decodeString(t) !== undefined)) return true;
      expect = 'colon';
    } else if (t === '{' || t === '[') {
      stack.push(t);
      expect = t === '{' ? 'keyOrEnd' : 'valueOrEnd';
    } else {
      if (!last && !scalar(t)) return true;
      if (last && !scalarPrefix(t)) return true;
      expect = 'after';
    }
  }
  return false;
}

function scalar(t: string): boolean {
  if (t.charAt(0) === '"') return decodeString(t) !== undefined;
  return /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)$/.test(t);
}

function scalarPrefix(t: string): boolean {
  if (t.charAt(0) === '"') return true;
  if (/^-?((0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]*)?)?$/.test(t)) return true;
  return ['true', 'false', 'null'].some((word) => word.startsWith(t));
}
