import { findNodeAtLocation, type Node, type ParseError, parse, parseTree } from 'jsonc-parser';
import { isJson } from './json-text';
import { isRecord } from './own-property';

/** JSON with comments and trailing commas, as configuration files contain it. */

export interface JsonFault {
  line: number;
  column: number;
}

export type JsonPath = (string | number)[];

const options = { allowTrailingComma: true };
/** The parser does not accept a byte order mark; a blank keeps all offsets. */
const withoutMark = (text: string) => text.replace(/^\ufeff/, ' ');

/** Returns the value, and the position of the first syntax error, if any. */
export function readJsonc(text: string): { value: unknown; fault?: JsonFault } {
  const errors: ParseError[] = [];
  const value: unknown = parse(withoutMark(text), errors, options);
  const [first] = errors;
  return first ? { value, fault: positionAt(text, first.offset) } : { value };
}

/** The position of the first syntax error as strict JSON; undefined if text is valid. */
export function jsonFault(text: string): JsonFault | undefined {
  if (isJson(text)) return undefined;
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true });
  return positionAt(text, errors[0]?.offset ?? text.length);
}

/** Line and column of an offset, both from 1. */
function positionAt(text: string, offset: number): JsonFault {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

function treeOf(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const tree = parseTree(withoutMark(text), errors, options);
  return errors.length > 0 ? undefined : tree;
}

/** The text of the value at a path, without the indentation of the file; undefined if there is none. */
export function blockAt(text: string, path: JsonPath): string | undefined {
  const tree = treeOf(text);
  const node = tree && findNodeAtLocation(tree, path);
  if (!node) return undefined;
  const before = text.slice(0, node.offset);
  const indent = /^[ \t]*/.exec(before.slice(before.lastIndexOf('\n') + 1))?.[0] ?? '';
  return text.slice(node.offset, node.offset + node.length).replaceAll(`\n${indent}`, '\n');
}

/** The text with another string as the value at a path, which exists. */
export function withValue(text: string, path: JsonPath, to: string): string {
  const tree = treeOf(text);
  const node = tree && findNodeAtLocation(tree, path);
  return node
    ? text.slice(0, node.offset) + JSON.stringify(to) + text.slice(node.offset + node.length)
    : text;
}

/** The member of a value at a path of names. */
export const valueAt = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>(
    (of, name) => (isRecord(of) && Object.hasOwn(of, name) ? of[name] : undefined),
    value,
  );

/** The position of the member at a path or of its nearest parent; an element is at its value. */
export function positionOf(text: string, path: JsonPath): JsonFault {
  const tree = parseTree(withoutMark(text), [], options);
  for (let n = path.length; tree && n >= 0; n--) {
    const node = findNodeAtLocation(tree, path.slice(0, n));
    if (node?.parent?.type === 'property') return positionAt(text, node.parent.offset);
    if (node) return positionAt(text, node.offset);
  }
  return { line: 1, column: 1 };
}
