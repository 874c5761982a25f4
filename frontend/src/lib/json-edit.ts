import { formatJson, jsonElements, jsonMembers, jsonString } from '@/lib/json-text';

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

/** A result of a tool in which JSON in texts is part of it, and the lines of other texts are a list. */
export function withOpenTexts(result: string): string {
  const blocks = jsonElements(jsonMembers(result)?.get('content') ?? '');
  const opened = blocks?.map((block) => {
    const text = jsonString(jsonMembers(block)?.get('text'));
    if (!text) return block;
    const lines = text.includes('\n') ? JSON.stringify(text.split('\n')) : undefined;
    const raw = jsonMembers(text) || jsonElements(text) ? text : lines;
    return raw ? withMember(block, 'text', raw) : block;
  });
  return opened ? withMember(result, 'content', `[${opened.join(',')}]`) : result;
}

/** Whether text is one number in JSON syntax. */
export function isNumber(text: string): boolean {
  return /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(text);
}
