import { expect, it } from 'vitest';
import { edited, moveEdit, setEdit, textEdit, typedText, withEdit, within } from './config-edits';

const value = { a: { b: 1, 'c/~': 2 }, list: ['x', 'y', 'z'] };

it.each([
  [setEdit(['a', 'c/~'], 3), { a: { b: 1, 'c/~': 3 } }],
  [setEdit(['a', 'b'], undefined), { a: { 'c/~': 2 } }],
  [setEdit(['n', 'm'], [1]), { n: { m: [1] } }],
  [setEdit(['gone', 'm'], undefined), {}],
  [textEdit(['list', 0], '"w" // c'), { list: ['w', 'x', 'y', 'z'] }],
  [setEdit(['list', 1], undefined), { list: ['x', 'z'] }],
  [moveEdit(['list'], 2, 0), { list: ['z', 'x', 'y'] }],
])('%j changes only its place', (edit, changed) => {
  const before = structuredClone(value);
  expect(edited(value, [edit])).toMatchObject({ ...value, ...changed });
  expect(value).toEqual(before);
});

it('a part that is typed replaces the edits before it', () => {
  const typed = textEdit([], '{"b": 2}');
  const edits = withEdit([setEdit(['b'], 1)], typed);
  expect([typedText(edits), edited(value.a, edits)]).toEqual(['{"b": 2}', { b: 2 }]);
  expect(typedText(withEdit(edits, setEdit(['b'], 3)))).toBeUndefined();
});

it('typing in a field is one edit, and new elements of a list are several', () => {
  const one = withEdit(withEdit([], setEdit(['b'], 'h')), setEdit(['b'], 'hi'));
  expect(one).toEqual([setEdit(['b'], 'hi')]);
  expect(withEdit([setEdit(['list', 0], 'a')], setEdit(['list', 0], 'b'))).toHaveLength(2);
});

it('edits of a part are edits of the file', () => {
  expect(within(['a/b', 'c'], [moveEdit(['l'], 1, 0), textEdit([], '1')])).toEqual([
    moveEdit(['a/b', 'c', 'l'], 1, 0),
    textEdit(['a/b', 'c'], '1'),
  ]);
});

it('a value is written with spaces, as people write it', () => {
  const to = { args: ['-y', '[ \n ]'], env: {} };
  expect(setEdit(['a'], to).text).toBe('{"args": ["-y", "[ \\n ]"], "env": {}}');
});
