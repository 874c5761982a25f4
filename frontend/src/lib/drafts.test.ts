import { expect, it } from 'vitest';
import { keepDraft, readDraft } from './drafts';

it('keeps a draft until it is discarded', () => {
  keepDraft('a', { text: 'half a "command"' });
  expect(readDraft('a')).toEqual({ text: 'half a "command"' });
  keepDraft('a', undefined);
  expect(readDraft('a')).toBeUndefined();
});

it('does not store secrets, even within JSON text, and deletes the earlier draft', () => {
  for (const secret of [
    '{"password": "hunter2"}',
    'npx server --api-key=abc123 sk-abcdefghijkl',
    '{"env": {"API_TOKEN": "abc"}}',
  ]) {
    keepDraft('a', 'earlier');
    keepDraft('a', { text: secret });
    expect(readDraft('a')).toBeUndefined();
  }
  keepDraft('a', '{"env": {"API_TOKEN": "${API_TOKEN}"}}');
  expect(readDraft('a')).toBeDefined();
});

it('is limited: no long texts, and the oldest drafts are deleted', () => {
  keepDraft('long', 'x'.repeat(300_000));
  expect(readDraft('long')).toBeUndefined();
  for (let i = 0; i < 30; i++) keepDraft(`place ${i}`, i);
  expect(Object.keys(sessionStorage)).toHaveLength(20);
  expect(readDraft('place 29')).toBe(29);
});

it('ignores corrupt storage', () => {
  sessionStorage.setItem('draft:a', '{');
  expect(readDraft('a')).toBeUndefined();
});
