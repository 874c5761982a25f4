import { expect, it } from 'vitest';
import { addMembers, placeOf, plainJson, setValue } from './jsonc';

it('comments and trailing commas become blanks, and nothing moves', () => {
  const text = '{\n  // a "quoted" note\n  "a": "http://x", /* , */\n  "b": [1, 2, ],\n}';
  const json = plainJson(text);
  expect(JSON.parse(json)).toEqual({ a: 'http://x', b: [1, 2] });
  expect(json.length).toBe(text.length);
  expect(json.indexOf('"b"')).toBe(text.indexOf('"b"'));
});

it('a member is found by its path', () => {
  const text = '{"x": {"y": [1, {"y": 2}], "z": "}"}}';
  const at = placeOf(text, ['x', 'z']);
  expect(at && text.slice(at.start, at.end)).toBe('"}"');
  expect(placeOf(text, ['x', 'none'])).toBeUndefined();
  expect(placeOf('', [])).toBeUndefined();
});

it.each([
  ['{"mcpServers": {}}', 1],
  ['{\n  // servers\n  "mcpServers": {\n    "a": {} // the first, really\n  },\n}', 2],
  ['{\n  "mcpServers": {\n    "a": {}, // kept\n    /* and this, too */\n  }\n}', 2],
  ['{\n  "mcpServers": {\n    // nothing yet\n  }\n}\n', 1],
  ['{"mcpServers":{"a":{}},"bridge":{}}', 2],
])('adding to %j keeps what was there', (text, n) => {
  const added = addMembers(text, ['mcpServers'], [['b', '{\n  "command": "x"\n}']]) ?? '';
  const parsed = JSON.parse(plainJson(added));
  expect(Object.keys(parsed.mcpServers)).toHaveLength(n);
  expect(parsed.mcpServers.b).toEqual({ command: 'x' });
  for (const comment of text.match(/\/\/.*|\/\*.*\*\//g) ?? []) expect(added).toContain(comment);
});

it('nothing is added where no object stands', () => {
  for (const text of ['', '[]', '{"mcpServers": []}', '{"mcpServers": {', '{}'])
    expect(addMembers(text, ['mcpServers'], [['b', '1']])).toBeUndefined();
});

it('one value is set in its place, and what is missing on the way is made', () => {
  const text = '{\n  // kept\n  "history": { "keepDays": 30 /* a month */ },\n}\n';
  expect(setValue(text, ['history', 'keepDays'], '7')).toBe(
    '{\n  // kept\n  "history": { "keepDays": 7 /* a month */ },\n}\n',
  );
  expect(setValue('{\n  "a": 1\n}\n', ['history', 'keepDays'], '7')).toBe(
    '{\n  "a": 1,\n  "history": {\n    "keepDays": 7\n  }\n}\n',
  );
});
