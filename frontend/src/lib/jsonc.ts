import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  type SyntaxKind,
} from 'jsonc-parser';
import { isJson } from './json-text';

/** JSON with comments and trailing commas, as configuration files contain it. */

export interface JsonFault {
  line: number;
  column: number;
}

export type JsonPath = (string | number)[];

const options = { allowTrailingComma: true };
const formattingOptions = { insertSpaces: true, tabSize: 2, eol: '\n' };

/** The values of jsonc-parser's const enum, which a compiler of single files cannot inline. */
const kind = {
  closeBrace: 2 as SyntaxKind,
  closeBracket: 4 as SyntaxKind,
  comma: 5 as SyntaxKind,
  lineComment: 12 as SyntaxKind,
  blockComment: 13 as SyntaxKind,
  trivia: 15 as SyntaxKind,
  end: 17 as SyntaxKind,
};

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

/** The source text of the value at a path; undefined if there is none. */
export function sourceAt(text: string, path: JsonPath): string | undefined {
  const tree = treeOf(text);
  const node = tree && findNodeAtLocation(tree, path);
  return node && text.slice(node.offset, node.offset + node.length);
}

/** The value at a path as a separate text, without the indentation of the file. */
export function blockAt(text: string, path: JsonPath): string | undefined {
  let found: string | undefined;
  editBlock(text, path, (block) => {
    found = block;
    return undefined;
  });
  return found;
}

/** Applies change to the text of the value at a path (see blockAt); undefined if there is none. */
export function editBlock(
  text: string,
  path: JsonPath,
  change: (block: string) => string | undefined,
): string | undefined {
  const tree = treeOf(text);
  const node = tree && findNodeAtLocation(tree, path);
  if (!node) return undefined;
  const before = text.slice(0, node.offset);
  const indent = /^[ \t]*/.exec(before.slice(before.lastIndexOf('\n') + 1))?.[0] ?? '';
  const end = node.offset + node.length;
  const edited = change(text.slice(node.offset, end).replaceAll(`\n${indent}`, '\n'));
  return edited === undefined
    ? undefined
    : before + edited.replaceAll('\n', `\n${indent}`) + text.slice(end);
}

/** Removes the member at a path, if it exists; comments around it are preserved. */
export function removeValue(text: string, path: string[]): string {
  if (sourceAt(text, path) === undefined) return text; // the library would throw
  return applyEdits(text, modify(text, path, undefined, { formattingOptions }));
}

/** Renames the member at a path; undefined if there is none. */
export function renameMember(text: string, path: string[], name: string): string | undefined {
  const tree = treeOf(text);
  const key = tree && findNodeAtLocation(tree, path)?.parent?.children?.[0];
  return (
    key && text.slice(0, key.offset) + JSON.stringify(name) + text.slice(key.offset + key.length)
  );
}

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

/** Removes comments and trailing commas. The text of every value is unchanged. */
export function plainJson(text: string): string {
  const scanner = createScanner(withoutMark(text), true);
  let out = '';
  let comma = '';
  for (let token = scanner.scan(); token !== kind.end; token = scanner.scan()) {
    if (token !== kind.closeBrace && token !== kind.closeBracket) out += comma;
    const at = scanner.getTokenOffset();
    comma = token === kind.comma ? ',' : '';
    if (!comma) out += text.slice(at, at + scanner.getTokenLength());
  }
  return out + comma;
}

/** A placeholder for the new value during an edit, because the library would rewrite its numbers. */
const placeholder = 'drawbridge:value';

/**
 * Sets the value at a path and creates missing parent objects. Comments and order are preserved.
 * Returns undefined if the text is invalid or the path leads through a scalar.
 */
export function setValue(text: string, path: string[], json: string): string | undefined {
  const tree = treeOf(text);
  if (tree?.type !== 'object' || path.length === 0) return undefined;
  const name = path.at(-1) ?? '';
  const parent = findNodeAtLocation(tree, path.slice(0, -1));
  if (parent?.type === 'object' && parent.children?.length && !findNodeAtLocation(parent, [name]))
    return append(text, parent, path.length, `${JSON.stringify(name)}: ${json}`);
  try {
    const edits = modify(text, path, placeholder, { formattingOptions });
    const edited = applyEdits(text, edits);
    const at = edited.indexOf(JSON.stringify(placeholder));
    const indent = /[ \t]*(?=[^\n]*$)/.exec(edited.slice(0, at))?.[0] ?? '';
    return edited.replace(JSON.stringify(placeholder), () => json.replaceAll('\n', `\n${indent}`));
  } catch {
    return undefined;
  }
}

/** Adds members to the object at a path. Returns undefined if there is none. */
export function addMembers(
  text: string,
  path: string[],
  members: [name: string, json: string][],
): string | undefined {
  const tree = treeOf(text);
  if (!tree || findNodeAtLocation(tree, path)?.type !== 'object') return undefined;
  return members.reduce<string | undefined>(
    (edited, [name, json]) =>
      edited === undefined ? undefined : setValue(edited, [...path, name], json),
    text,
  );
}

/**
 * Adds a member after the last one and the comment on its line: the library would insert it before
 * the comment, which would then belong to the new member.
 */
function append(text: string, object: Node, depth: number, member: string): string {
  const last = object.children?.at(-1);
  const end = last ? last.offset + last.length : object.offset + 1;
  const comma = createScanner(text, true);
  comma.setPosition(end);
  const missing = comma.scan() === kind.comma ? '' : ',';
  const line = createScanner(text);
  line.setPosition(end);
  let at = end;
  while (onSameLine.has(line.scan())) at = line.getPosition();
  const pad = '  '.repeat(depth);
  const rest = text.slice(at).replace(/^[ \t]*(?=\})/, `\n${'  '.repeat(depth - 1)}`);
  const before = text.slice(0, end) + missing + text.slice(end, at).trimEnd();
  return `${before}\n${pad}${member.replaceAll('\n', `\n${pad}`)}${rest}`;
}

const onSameLine = new Set([kind.comma, kind.lineComment, kind.blockComment, kind.trivia]);
