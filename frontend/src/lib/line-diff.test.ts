import { expect, test } from 'vitest';
import { lineDiff } from './line-diff';

test('what goes and what comes is told line by line', () => {
  expect(lineDiff('a\nb\nc', 'a\nb\nc')).toBe('');
  expect(lineDiff('a\nb\nc', 'a\nx\nc')).toBe('-b\n+x');
  expect(lineDiff('a\nc', 'a\nb\nc')).toBe('+b');
  expect(lineDiff('a\nb\nc', 'a\nc')).toBe('-b');
  expect(lineDiff('one\nkept\ntwo\n', 'eins\nkept\nzwei\n')).toBe(
    '-one\n+eins\n kept\n-two\n+zwei',
  );
  expect(lineDiff('', 'a')).toBe('-\n+a');
});

test('two long texts that share nothing are told apart at once', () => {
  const long = (sign: string) => Array.from({ length: 20_000 }, (_, i) => `${sign}${i}`).join('\n');
  const lines = lineDiff(long('a'), long('b')).split('\n');
  expect(lines.length).toBe(40_000);
  expect(lines[0]).toBe('-a0');
  expect(lines.at(-1)).toBe('+b19999');
});
