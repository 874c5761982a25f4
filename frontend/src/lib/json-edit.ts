import { formatJson, jsonElements, jsonMembers } from '@/lib/json-text';

/** Edits of JSON as text: what is not changed keeps every digit. */

/** An object with one member set, or removed if raw is undefined. Text that is not an object is treated as empty. */
export function withMember(object: string, name: string, raw: string | undefined): string {
  const members = jsonMembers(object) ?? new Map<string, string>();
  if (raw === undefined) members.delete(name);
  else members.set(name, raw);
  return objectText(members);
}

export function objectText(members: Iterable<[string, string]>): string {
  const parts = [...members].map(([name, raw]) => `${JSON.stringify(name)}:${raw}`);
  return formatJson(`{${parts.join(',')}}`);
}

/** An array with one element set, or removed if raw is undefined; an index past the end appends. */
export function withElement(array: string, index: number, raw: string | undefined): string {
  const elements = jsonElements(array) ?? [];
  elements.splice(index, 1, ...(raw === undefined ? [] : [raw]));
  return formatJson(`[${elements.join(',')}]`);
}

/** Whether text is one number in JSON syntax. */
export function isNumber(text: string): boolean {
  return /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(text);
}
