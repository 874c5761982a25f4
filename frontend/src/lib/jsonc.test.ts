import { describe, expect, it } from 'vitest';
import { blockAt, jsonFault, readJsonc, valueAt } from './jsonc';

it('a syntax error is reported with its line and column', () => {
  expect(readJsonc('\ufeff{"a": [1, /* x */ 2,],}')).toEqual({ value: { a: [1, 2] } });
  expect(readJsonc('{\n  "a" 1\n}').fault).toEqual({ line: 2, column: 7 });
  expect(readJsonc('{\n  "a": tru\n}').fault).toEqual({ line: 2, column: 8 });
  expect(readJsonc('{').fault).toEqual({ line: 1, column: 2 });
});

describe('jsonFault', () => {
  it('reports nothing for valid JSON', () => {
    for (const text of ['{}', '[1, 2]', '"a"', '{"a":{"b":[true,false,null,-1.5e3]}}']) {
      expect(jsonFault(text)).toBeUndefined();
    }
  });

  it('reports the position', () => {
    expect(jsonFault('{"a": }')).toEqual({ line: 1, column: 7 });
    expect(jsonFault('{\n  "a": 1,\n  b: 2\n}')).toEqual({ line: 3, column: 3 });
    expect(jsonFault('{"a": 1,}')).toEqual({ line: 1, column: 9 });
    expect(jsonFault('{"a": 1')).toEqual({ line: 1, column: 8 });
    expect(jsonFault('[01]')).toEqual({ line: 1, column: 3 });
  });
});

it('a part of a file is shown without the indentation of the file', () => {
  const text = '{\n  "a": {\n    "b": { // note\n      "c": 1\n    } // end\n  }\n}\n';
  expect(blockAt(text, ['a', 'b'])).toBe('{ // note\n  "c": 1\n}');
  for (const path of [
    ['a', 'x'],
    ['x', 'b'],
  ])
    expect(blockAt(text, path)).toBeUndefined();
  expect(blockAt('{', ['a'])).toBeUndefined();
});

it('only own members are found', () => {
  expect(valueAt({ a: { b: 1 } }, ['a', 'b'])).toBe(1);
  for (const path of [['constructor'], ['a', 'b', 'c'], ['x', 'y']])
    expect(valueAt({ a: { b: 1 } }, path)).toBeUndefined();
});
