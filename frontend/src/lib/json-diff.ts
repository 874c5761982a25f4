import { jsonElements, jsonMembers } from '@/lib/json-text';

export interface Difference {
  /** Where, as the user writes it: content[0].text */
  path: string;
  /** JSON text; undefined: not there. */
  before: string | undefined;
  after: string | undefined;
}

/**
 * What differs between two JSON texts, by place. Values are compared as they are
 * spelled, so that 1 and 1.0 differ and no digit is lost. Finds at most `limit`.
 */
export function jsonDifferences(before: string, after: string, limit = 200): Difference[] {
  const found: Difference[] = [];
  compare('', before.trim(), after.trim(), found, limit, 0);
  return found;
}

function compare(
  path: string,
  before: string | undefined,
  after: string | undefined,
  found: Difference[],
  limit: number,
  depth: number,
): void {
  if (found.length >= limit || before === after) return;
  const a = before === undefined || depth > 30 ? undefined : parts(before);
  const b = after === undefined || depth > 30 ? undefined : parts(after);
  if (!a || !b || a.list !== b.list) {
    found.push({ path, before, after });
    return;
  }
  for (const name of new Set([...a.members.keys(), ...b.members.keys()])) {
    const at = a.list ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    compare(at, a.members.get(name), b.members.get(name), found, limit, depth + 1);
  }
}

function parts(text: string): { list: boolean; members: Map<string, string> } | undefined {
  if (text.startsWith('{')) {
    const members = jsonMembers(text);
    return members && { list: false, members };
  }
  if (!text.startsWith('[')) return undefined;
  const elements = jsonElements(text);
  return elements && { list: true, members: new Map(elements.map((e, i) => [String(i), e])) };
}
