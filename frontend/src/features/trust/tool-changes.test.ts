import { expect, test } from 'vitest';
import type { ToolChange } from '@/types/api';
import { summaryOf } from './change-summary';
import { shownLines } from './tool-changes';

test('the lines of a changed definition are shown as they were compared', () => {
  expect(
    shownLines([
      { op: 'same', text: 'name: add' },
      { op: 'old', text: 'description: Adds.' },
      { op: 'new', text: 'description: Adds\u202e.' },
      { op: 'new', text: 'inputSchema.required[0]: a' },
      { op: 'same', text: 'inputSchema.type: object' },
      { op: 'gap', text: '4 unchanged lines' },
    ]),
  ).toEqual([
    { kind: 'same', text: 'name: add' },
    { kind: 'removed', text: 'description: Adds.' },
    { kind: 'added', text: 'description: Adds\ufffd.' },
    { kind: 'added', text: 'inputSchema.required[0]: a' },
    { kind: 'same', text: 'inputSchema.type: object' },
    { kind: 'hunk', text: '@@ 4 unchanged lines @@' },
  ]);
});

test('no new line is lost behind many old ones, and no invisible change is hidden', () => {
  const many = (op: 'old' | 'new') =>
    Array.from({ length: 6000 }, (_, i) => ({ op, text: `${op} ${i}` }));
  expect(shownLines([...many('old'), ...many('new')]).map((line) => line.text)).toContain(
    'new 4999',
  );
  const lines = shownLines([
    { op: 'old', text: 'description: a\u200e' },
    { op: 'new', text: 'description: a\u200f' },
  ]);
  expect(lines.map((line) => line.text)).toEqual([
    'description: a\\u{200e}',
    'description: a\\u{200f}',
  ]);
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
