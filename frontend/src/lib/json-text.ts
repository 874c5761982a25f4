/**
 * Functions for JSON as text. Numbers are never converted to JavaScript numbers, so
 * 9007199254740993, 1.0 and 1e400 are shown as they were sent; JSON parsers lose this.
 */

interface Piece {
  text: string;
  at: number;
}

const isWord = (c: number) => (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
const isDigit = (c: number) => c >= 48 && c <= 57;

/**
 * The end of the string whose opening quote is at `at`, or the end of the text. Searches from quote
 * to quote instead of examining each character: a result may contain a string of many megabytes.
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

/** Splits text into tokens without white space. Every other character is in exactly one token. */
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

/** Formats JSON text with an indentation of two spaces. Text that is not JSON keeps all its tokens. */
export function formatJson(text: string): string {
  let out = '';
  let depth = 0;
  let last = '';
  for (const { text: token } of pieces(text)) {
    const closes = token === '}' || token === ']';
    if (closes) depth = Math.max(0, depth - 1);
    const breaks = closes
      ? last !== (token === '}' ? '{' : '[')
      : last === '{' || last === '[' || last === ',';
    if (breaks && out !== '') out += `\n${'  '.repeat(depth)}`;
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    last = token;
  }
  return out;
}

/** Deeper values keep their order, because each level reads its text once more. */
const deepestSorted = 30;

/** The same JSON text with the members of every object in alphabetical order. */
export function sortJson(text: string, depth = 0): string {
  if (depth > deepestSorted) return text;
  const members = jsonMembers(text);
  if (members) {
    const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
    const parts = sorted.map(
      ([name, one]) => `${JSON.stringify(name)}:${sortJson(one, depth + 1)}`,
    );
    return `{${parts.join(',')}}`;
  }
  const elements = jsonElements(text);
  return elements ? `[${elements.map((one) => sortJson(one, depth + 1)).join(',')}]` : text;
}

/**
 * The members of a JSON object, each value as its raw text. Undefined if text is not an object. Of
 * duplicate keys the last one is used, as in JSON.parse.
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

/** The value of a JSON string literal, or undefined if text is not one. */
export function jsonString(text: string | undefined): string | undefined {
  return text?.charAt(0) === '"' ? decodeString(text) : undefined;
}

/** The elements of a JSON array as raw text, or undefined if text is not an array. */
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

/** Whether text is one valid JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
