import { type JsonPath, readJsonc } from '@/lib/jsonc';
import { isRecord } from '@/lib/own-property';
import type { Edit } from '@/types/api';

/** Edits of the configuration file. The daemon applies them to its text; see lib/config-file. */

const pointer = (path: JsonPath) =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** JSON on one line, as people write it. */
const oneLine = (value: unknown) =>
  JSON.stringify(value, null, 1)
    .replace(/([[{])\n\s*/g, '$1')
    .replace(/\n\s*([\]}])/g, '$1')
    .replace(/\n\s*/g, ' ');

/** The edit that sets the value at a path, or removes it if the value is undefined. */
export const setEdit = (path: JsonPath, to: unknown): Edit =>
  to === undefined ? { op: 'remove', path: pointer(path) } : textEdit(path, oneLine(to));

/** The edit that sets the value at a path to JSON with comments. */
export const textEdit = (path: JsonPath, text: string): Edit => ({
  op: 'add',
  path: pointer(path),
  text,
});

/** The edit that renames a member, or moves an element within its list. */
export const moveEdit = (path: JsonPath, from: string | number, to: string | number): Edit => ({
  op: 'move',
  path: pointer([...path, to]),
  from: pointer([...path, from]),
});

/** Edits of the value at a path as edits of the file. */
export const within = (path: JsonPath, edits: Edit[]): Edit[] =>
  edits.map(({ from, ...edit }) => ({
    ...edit,
    path: pointer(path) + edit.path,
    ...(from !== undefined && { from: pointer(path) + from }),
  }));

/** The text of a value, if edits end by replacing all of it. */
export const typedText = (edits: Edit[]): string | undefined =>
  edits.at(-1)?.path === '' ? edits.at(-1)?.text : undefined;

/** Edits with one more, which replaces those that it makes superfluous. */
export function withEdit(edits: Edit[], edit: Edit): Edit[] {
  if (edit.path === '') return [edit];
  const last = edits.at(-1);
  const again = edit.op === 'add' && last?.op === 'add' && last.path === edit.path;
  return [...(again && !isElement(edit.path) ? edits.slice(0, -1) : edits), edit];
}

const isElement = (path: string) => /\/(\d+|-)$/.test(path);

/** A value after edits. */
export const edited = (value: unknown, edits: Edit[]): unknown => edits.reduce(apply, value);

function apply(value: unknown, { op, path, from, text = '' }: Edit): unknown {
  const added = op === 'add' ? readJsonc(text).value : undefined;
  const steps = stepsOf(path);
  const last = steps.pop();
  if (last === undefined) return added;
  const root = structuredClone(value);
  let box = root;
  for (const step of steps) {
    if (isRecord(box) && box[step] === undefined) box[step] = {};
    box = (box as Record<string, unknown> | undefined)?.[step];
  }
  if (Array.isArray(box)) {
    const at = op === 'move' ? Number(stepsOf(from ?? '').at(-1)) : Number(last);
    const moved = op === 'add' ? [added] : box.splice(at, 1);
    if (op !== 'remove') box.splice(Number(last), 0, ...moved);
  } else if (isRecord(box)) {
    if (op === 'add') box[last] = added;
    else delete box[last];
  }
  return root;
}

const stepsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
