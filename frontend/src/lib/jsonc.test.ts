import { describe, expect, it } from 'vitest';
import {
  addMembers,
  blockAt,
  editBlock,
  jsonFault,
  plainJson,
  readJsonc,
  removeValue,
  setValue,
  sourceAt,
} from './jsonc';

it('comments and trailing commas are removed, and numbers keep their spelling', () => {
  const text =
    '\ufeff{\n  // a "quoted" note\n  "a": "http://x", /* , */\n  "b": [1.0, 9007199254740993, ],\n}';
  expect(plainJson(text)).toBe('{"a":"http://x","b":[1.0,9007199254740993]}');
});

it('a syntax error is reported with its line and column', () => {
  expect(readJsonc('\ufeff{"a": [1, /* x */ 2,],}')).toEqual({ value: { a: [1, 2] } });
  expect(readJsonc('{\n  "a" 1\n}').fault).toEqual({ line: 2, column: 7 });
  expect(readJsonc('{\n  "a": tru\n}').fault).toEqual({ line: 2, column: 8 });
  expect(readJsonc('{').fault).toEqual({ line: 1, column: 2 });
});

it('a value is found by its path', () => {
  const text = '{"x": {"y": [1, {"y": 2}], "z": "}"}}';
  expect(sourceAt(text, ['x', 'z'])).toBe('"}"');
  expect(sourceAt(text, ['x', 'none'])).toBeUndefined();
  expect(sourceAt('', [])).toBeUndefined();
});

it.each([
  ['{"mcpServers": {}}', 1],
  ['{\n  // servers\n  "mcpServers": {\n    "a": {} // the first, really\n  },\n}', 2],
  ['{\n  "mcpServers": {\n    "a": {}, // kept\n    /* and this, too */\n  }\n}', 2],
  ['{\n  "mcpServers": {\n    // nothing yet\n  }\n}\n', 1],
  ['{"mcpServers":{"a":{}},"bridge":{}}', 2],
])('adding to %j keeps the existing content', (text, n) => {
  const added = addMembers(text, ['mcpServers'], [['b', '{\n  "command": "x"\n}']]) ?? '';
  const parsed = JSON.parse(plainJson(added));
  expect(Object.keys(parsed.mcpServers)).toHaveLength(n);
  expect(parsed.mcpServers.b).toEqual({ command: 'x' });
  for (const comment of text.match(/\/\/.*|\/\*.*\*\//g) ?? []) expect(added).toContain(comment);
});

it('nothing is added if there is no object', () => {
  for (const text of ['', '[]', '{"mcpServers": []}', '{"mcpServers": {', '{}'])
    expect(addMembers(text, ['mcpServers'], [['b', '1']])).toBeUndefined();
});

it('a value is set in place, and missing parent objects are created', () => {
  const text = '{\n  // kept\n  "history": { "keepDays": 30 /* a month */ },\n}\n';
  expect(setValue(text, ['history', 'keepDays'], '7')).toBe(
    '{\n  // kept\n  "history": { "keepDays": 7 /* a month */ },\n}\n',
  );
  expect(setValue('{\n  "a": 1\n}\n', ['history', 'keepDays'], '7')).toBe(
    '{\n  "a": 1,\n  "history": {\n    "keepDays": 7\n  }\n}\n',
  );
});

it('a comment stays with the member on its line, and a new number keeps its spelling', () => {
  expect(
    addMembers(
      '{\n  "a": 1 // the first\n}\n',
      [],
      [
        ['b', '9007199254740993'],
        ['c', '{}'],
      ],
    ),
  ).toBe('{\n  "a": 1, // the first\n  "b": 9007199254740993,\n  "c": {}\n}\n');
  expect(setValue('{"a":{}}', ['a', 'b'], '1.0')).toBe('{\n  "a": {\n    "b": 1.0\n  }\n}');
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

it('a value is edited as separate text, and the rest of the file is unchanged', () => {
  const text = '{\n  "a": {\n    "b": { // note\n      "c": 1\n    } // end\n  }\n}\n';
  const block = '{ // note\n  "c": 1\n}';
  expect(blockAt(text, ['a', 'b'])).toBe(block);
  expect(editBlock(text, ['a', 'b'], () => block)).toBe(text);
  expect(editBlock(text, ['a', 'b'], (b) => setValue(b, ['d'], '2'))).toBe(
    text.replace('"c": 1', '"c": 1,\n      "d": 2'),
  );
  expect(editBlock(text, ['a', 'b'], () => undefined)).toBeUndefined();
  expect(blockAt(text, ['a', 'x'])).toBeUndefined();
});

it('removing a member keeps the comments of the others', () => {
  const text = '{\n  // of a\n  "a": 1,\n  // of b\n  "b": 2\n}';
  expect(readJsonc(removeValue(text, ['b'])).value).toEqual({ a: 1 });
  expect(removeValue(text, ['b'])).toContain('// of a');
  expect(removeValue(text, ['c'])).toBe(text);
});

it('removing a value that does not exist changes nothing', () => {
  for (const text of ['{}', '', '{"a": 1}', '// only a comment', '{"globalSettings": {}}'])
    expect(removeValue(text, ['globalSettings', 'timeout'])).toBe(text);
});
