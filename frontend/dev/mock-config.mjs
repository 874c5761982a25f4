// The edits of the configuration file by the mock daemon; the daemon keeps more comments.
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';

const formattingOptions = { insertSpaces: true, tabSize: 2, eol: '\n' };
const parse = (text) => parseTree(text, [], { allowTrailingComma: true });

/** The text after edits, as in a PATCH of the configuration. */
export const patched = (text, edits) => edits.reduce(one, text);

function one(text, { op, path, from, text: value }) {
  if (path === '') return value;
  const [to, at] = [path, from ?? path].map((pointer) => steps(text, pointer));
  const root = parse(text);
  const box = findNodeAtLocation(root, at.slice(0, -1));
  if (box?.type === 'array') {
    const items = box.children.map((item) => sourceOf(text, item));
    const moved = op === 'add' ? value : items.splice(at.at(-1), 1)[0];
    if (op !== 'remove') items.splice(to.at(-1), 0, moved);
    return splice(text, box, `[${items.join(', ')}]`);
  }
  const node = findNodeAtLocation(root, at);
  if (op === 'move') return splice(text, node.parent.children[0], JSON.stringify(to.at(-1)));
  if (op === 'remove')
    return node ? applyEdits(text, modify(text, at, undefined, { formattingOptions })) : text;
  const mark = 'drawbridge:value';
  const edited = applyEdits(text, modify(text, at, mark, { formattingOptions }));
  const set = findNodeAtLocation(parse(edited), at);
  const indent = /[ \t]*(?=\S[^\n]*$)/.exec(edited.slice(0, set.offset))?.[0] ?? '';
  return splice(edited, set, value.replaceAll('\n', `\n${indent}`));
}

const sourceOf = (text, { offset, length }) => text.slice(offset, offset + length);

const splice = (text, { offset, length }, by) =>
  text.slice(0, offset) + by + text.slice(offset + length);

/** The keys and indexes of a JSON Pointer. */
function steps(text, pointer) {
  const keys = pointer.split('/').slice(1);
  const names = keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.map((name, i) => {
    const list = findNodeAtLocation(parse(text), names.slice(0, i).map(numbers))?.type === 'array';
    return list ? Number(name) : name;
  });
}

const numbers = (name) => (/^\d+$/.test(name) ? Number(name) : name);
