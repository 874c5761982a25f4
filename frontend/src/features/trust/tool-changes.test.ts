import { expect, test } from 'vitest';
import type { ToolChange } from '@/types/api';
import { summaryOf } from './change-summary';
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

test('a summary counts the changed definitions and what of them differs', () => {
  const tool: Pick<ToolChange, 'kind' | 'parts'> = { kind: 'tool', parts: [] };
  expect(
    summaryOf([
      { ...tool, state: 'waiting', parts: ['description', 'schema'] },
      { ...tool, state: 'changed', parts: ['schema'] },
      { ...tool, state: 'added' },
    ]),
  ).toBe('2 tools changed: 1 description, 2 schemas; 1 added');
  expect(summaryOf([{ ...tool, kind: 'prompt', state: 'removed' }])).toBe('1 definition removed');
});
