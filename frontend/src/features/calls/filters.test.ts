import { expect, it } from 'vitest';
import { filterQuery, readTokens, searchText, seekRedacted, seeksRedacted } from './filters';

it('extracts complete filters from the search text', () => {
  expect(readTokens('server:files outcome:error took:>1.5s "some text" ')).toEqual({
    found: { server: 'files', outcome: 'tool_error', slow: '1500' },
    rest: '"some text"',
  });
  expect(readTokens('client:"Claude Code" budget ')).toEqual({
    found: { client: 'Claude Code' },
    rest: 'budget',
  });
});

it('leaves incomplete filters and other text unchanged', () => {
  for (const text of ['server:fi', 'https://x.org/a ', 'took:>soon ', 'a b ', 'constructor:x '])
    expect(readTokens(text)).toEqual({ found: {}, rest: text });
});

it('searches for words that begin with the last one', () => {
  expect(filterQuery({ q: 'exceeds lim' }).get('q')).toBe('exceeds lim*');
  for (const q of ['exceed*', '[redacted]', 'a 7', 'list ']) expect(searchText(q)).toBe(q);
});

it('adds the mark of redacted secrets to the search text, and removes only it', () => {
  expect(seekRedacted({}, true)).toBe('[redacted]');
  expect(seekRedacted({ q: 'token' }, true)).toBe('token [redacted]');
  expect(seekRedacted({ q: 'a [redacted] b' }, false)).toBe('a b');
  expect(seekRedacted({ q: '[redacted]' }, false)).toBeUndefined();
  expect(seeksRedacted({ q: 'a [redacted]' })).toBe(true);
  expect(seeksRedacted({ q: 'redacted' })).toBe(false);
});
