/** JSON with comments and trailing commas, as configuration files hold it. */

/**
 * The same text with comments and trailing commas turned into blanks: it is JSON
 * then, and every offset, line and column is still that of the original.
 */
export function plainJson(text: string): string {
  const out = text.split('');
  const blank = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (out[i] !== '\n' && out[i] !== '\r') out[i] = ' ';
  };
  let comma = -1; // the last comma that only blanks and comments follow
  let i = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  blank(0, i);
  while (i < text.length) {
    const c = text.charAt(i);
    const two = text.slice(i, i + 2);
    if (two === '//') {
      const end = text.indexOf('\n', i);
      blank(i, end < 0 ? text.length : end);
      i = end < 0 ? text.length : end;
    } else if (two === '/*') {
      const end = text.indexOf('*/', i + 2);
      blank(i, end < 0 ? text.length : end + 2);
      i = end < 0 ? text.length : end + 2;
    } else if (c === '"') {
      i = endOfString(text, i);
      comma = -1;
    } else {
      if (c === ',') comma = i;
      else if (c === '}' || c === ']') {
        if (comma >= 0) blank(comma, comma + 1);
        comma = -1;
      } else if (!/\s/.test(c)) comma = -1;
      i++;
    }
  }
  return out.join('');
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text.charAt(i) !== '"' && text.charAt(i) !== '\n')
    i += text.charAt(i) === '\\' ? 2 : 1;
  return Math.min(i + 1, text.length);
}

interface Place {
  /** Offset of the value's first character. */
  start: number;
  /** Offset behind its last one. */
  end: number;
}

/** Where the value of a member stands, by its path from the root; undefined when there is none. */
export function placeOf(text: string, path: string[]): Place | undefined {
  const json = plainJson(text);
  const start = json.search(/\S/);
  if (start < 0) return undefined;
  let at: Place | undefined = { start, end: endOfValue(json, start) };
  for (const name of path) {
    if (!at) return undefined;
    at = memberOf(json, at, name);
  }
  return at;
}

function memberOf(json: string, object: Place, name: string): Place | undefined {
  if (json.charAt(object.start) !== '{') return undefined;
  let found: Place | undefined;
  let i = object.start + 1;
  while (i < object.end) {
    const keyStart = skip(json, i);
    if (json.charAt(keyStart) !== '"') return found;
    const keyEnd = endOfString(json, keyStart);
    const colon = skip(json, keyEnd);
    if (json.charAt(colon) !== ':') return found;
    const start = skip(json, colon + 1);
    const end = endOfValue(json, start);
    if (json.slice(keyStart, keyEnd) === JSON.stringify(name)) found = { start, end };
    const next = skip(json, end);
    if (json.charAt(next) !== ',') return found;
    i = next + 1;
  }
  return found;
}

function skip(json: string, from: number): number {
  let i = from;
  while (i < json.length && /\s/.test(json.charAt(i))) i++;
  return i;
}

function endOfValue(json: string, start: number): number {
  let depth = 0;
  let i = start;
  while (i < json.length) {
    const c = json.charAt(i);
    if (c === '"') {
      i = endOfString(json, i);
      if (depth === 0) return i;
      continue;
    }
    if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') {
      if (depth === 0) return i;
      depth--;
      if (depth === 0) return i + 1;
    } else if (depth === 0 && (c === ',' || /\s/.test(c))) return i;
    i++;
  }
  return i;
}

/**
 * The text with members added at the end of one object; comments, order and what
 * was there stay as they are. Undefined when there is no object at that path.
 */
export function addMembers(
  text: string,
  path: string[],
  members: [name: string, json: string][],
): string | undefined {
  const place = placeOf(text, path);
  const json = plainJson(text);
  if (!place || json.charAt(place.start) !== '{' || json.charAt(place.end - 1) !== '}')
    return undefined;
  const depth = path.length + 1;
  const pad = '  '.repeat(depth);
  const lines = members
    .map(([name, raw]) => `${pad}${JSON.stringify(name)}: ${raw.replaceAll('\n', `\n${pad}`)}`)
    .join(',\n');
  const close = place.end - 1;
  const last = lastInside(json, place.start, close);
  const empty = last === place.start;
  // A comma that was there as a trailing one is not in `json`, but in `text`.
  const comma =
    empty ||
    text
      .slice(last + 1, close)
      .replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
      .includes(',');
  const before = text.slice(0, last + 1) + (comma ? '' : ',') + text.slice(last + 1, close);
  return `${before.replace(/[ \t]*$/, '').replace(/\n$/, '')}\n${lines}\n${'  '.repeat(depth - 1)}${text.slice(close)}`;
}

/** The last character before `close` that is not blank. */
function lastInside(json: string, open: number, close: number): number {
  let i = close - 1;
  while (i > open && /\s/.test(json.charAt(i))) i--;
  return i;
}

/** The text with one value set, by its path; objects on the way are made where they are missing. */
export function setValue(text: string, path: string[], json: string): string | undefined {
  const place = placeOf(text, path);
  if (place) return text.slice(0, place.start) + json + text.slice(place.end);
  const name = path.at(-1);
  if (name === undefined) return undefined;
  const parent = path.slice(0, -1);
  return (
    addMembers(text, parent, [[name, json]]) ??
    (parent.length > 0
      ? setValue(text, parent, `{\n  ${JSON.stringify(name)}: ${json}\n}`)
      : undefined)
  );
}
