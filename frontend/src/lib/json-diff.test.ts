import { expect, it } from 'vitest';
import { jsonDifferences } from './json-diff';

it('differences are told by their place, spelling counts, order of keys and blanks do not', () => {
  expect(
    jsonDifferences(
      '{"a":1,"b":[1,{"c":9007199254740993}],"d":0}',
      '{ "b":[1, {"c":9007199254740992}], "a":1.0,"e":[] }',
    ),
  ).toEqual([
    { path: 'a', before: '1', after: '1.0' },
    { path: 'b[1].c', before: '9007199254740993', after: '9007199254740992' },
    { path: 'd', before: '0', after: undefined },
    { path: 'e', before: undefined, after: '[]' },
  ]);
  expect(jsonDifferences('{"a":[1, 2]}', '{"a":[1,2]}')).toEqual([]);
  expect(jsonDifferences('1', '{"a":1}')).toHaveLength(1);
});

it('it stops at its limit', () => {
  const many = (n: number) => JSON.stringify(Array.from({ length: 1000 }, (_, i) => i + n));
  expect(jsonDifferences(many(0), many(1), 20)).toHaveLength(20);
});
