import { expect, it } from 'vitest';
import { withOpenTexts } from './json-edit';

const opened = (text: string) =>
  JSON.parse(withOpenTexts(JSON.stringify({ content: [{ type: 'text', text }], isError: false })))
    .content[0].text;

it('JSON in the texts of a result is part of it, and other texts are lists of lines', () => {
  expect(opened('{\n "rows": [{"id": 1}]}')).toEqual({ rows: [{ id: 1 }] });
  expect(opened('[1]')).toEqual([1]);
  expect(opened('one\ntwo')).toEqual(['one', 'two']);
  expect(opened('one')).toBe('one');
  expect(opened('5')).toBe('5');
  expect(withOpenTexts('{"content":[{"text":"{\\"n\\":9007199254740993}"}]}')).toContain(
    '9007199254740993',
  );
  for (const other of ['', 'x', '{"message":"no"}']) expect(withOpenTexts(other)).toBe(other);
});
