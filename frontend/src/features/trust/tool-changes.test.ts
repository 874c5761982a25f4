import { expect, test } from 'vitest';
import { versionsOf } from './tool-changes';

test('the lines of a changed definition become the texts before and after', () => {
  expect(
    versionsOf([
      { op: 'same', text: 'name: add' },
      { op: 'old', text: 'description: Adds.' },
      { op: 'new', text: 'description: Adds\u202e.' },
      { op: 'gap', text: '4 unchanged lines' },
    ]),
  ).toEqual({
    before: 'name: add\ndescription: Adds.\n@@ 4 unchanged lines @@',
    after: 'name: add\ndescription: Adds\ufffd.\n@@ 4 unchanged lines @@',
  });
});

test('no new line is lost behind many old ones, and no invisible change is hidden', () => {
  const many = (op: 'old' | 'new') =>
    Array.from({ length: 2001 }, (_, i) => ({ op, text: `${op} ${i}` }));
  expect(versionsOf([...many('old'), ...many('new')]).after).toContain('new 2000');
  const { before, after } = versionsOf([
    { op: 'old', text: 'description: a\u200e' },
    { op: 'new', text: 'description: a\u200f' },
  ]);
  expect(after).not.toBe(before);
  expect(after).toContain('\\u{200f}');
});
