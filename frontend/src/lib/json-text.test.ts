import { describe, expect, it } from 'vitest';
import { formatJson, jsonElements, jsonMembers, jsonString, sortJson } from './json-text';

describe('formatJson', () => {
  it('keeps the spelling of every token', () => {
    const odd =
      '{"z":9007199254740993,"a":1.0,"e":1e400,"n":-0,"s":"\\u00e9\\/","d":1,"d":2,"l":[true,null,{}],"k":[]}';
    expect(formatJson(odd)).toBe(`{
  "z": 9007199254740993,
  "a": 1.0,
  "e": 1e400,
  "n": -0,
  "s": "\\u00e9\\/",
  "d": 1,
  "d": 2,
  "l": [
    true,
    null,
    {}
  ],
  "k": []
}`);
    expect(formatJson(odd).replace(/\s/g, '')).toBe(odd);
  });

  it('matches JSON.stringify for common values', () => {
    const values = [
      {},
      [],
      'a "b" {c}',
      3,
      { a: [[1, 2], { b: { c: [] } }], 'x:y': ',' },
      [{}, [{}]],
    ];
    for (const value of values) {
      expect(formatJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
    }
  });

  it('ignores white space between tokens and keeps it within strings', () => {
    expect(formatJson('\n{ "a b" :\t1 }')).toBe('{\n  "a b": 1\n}');
  });

  it('shows invalid JSON without omitting any of it', () => {
    for (const junk of ['hello world', '{"a":', '}}]', '{"a" 1}', '"open', '[1,,2]', '<b>&</b>']) {
      expect(formatJson(junk).replace(/\s/g, '')).toBe(junk.replace(/\s/g, ''));
    }
  });

  it('finds the end of a string with quotes and backslashes', () => {
    for (let n = 0; n < 4 ** 6; n++) {
      const inner = [...n.toString(4).padStart(6, '0')]
        .map((d) => '"\\,a'.charAt(Number(d)))
        .join('');
      const text = `{"k":${JSON.stringify(inner)},"next":1}`;
      expect(jsonMembers(text)).toEqual(
        new Map([
          ['k', JSON.stringify(inner)],
          ['next', '1'],
        ]),
      );
    }
  });

  it('formats a string of five megabytes', () => {
    const text = JSON.stringify({ long: 'x\\"'.repeat(1_700_000) });
    expect(formatJson(text).length).toBe(text.length + 5);
  });
});

describe('jsonMembers', () => {
  it('returns the raw text of every member', () => {
    const members = jsonMembers(
      '{ "n": 9007199254740993, "o": {"a":[1,{"b":2}]}, "s": "}", "\\u0061": [ ] }',
    );
    expect(members && Object.fromEntries(members)).toEqual({
      n: '9007199254740993',
      o: '{"a":[1,{"b":2}]}',
      s: '"}"',
      a: '[ ]',
    });
  });

  it('rejects text that is not an object', () => {
    for (const text of ['[1]', '"a"', '', '{"a":1', 'null'])
      expect(jsonMembers(text)).toBeUndefined();
  });

  it('parses an empty object', () => {
    expect(jsonMembers('{}')?.size).toBe(0);
  });
});

describe('jsonElements', () => {
  it('returns the raw text of every element', () => {
    expect(jsonElements('[1.0, {"a":[1,2]}, "],"]')).toEqual(['1.0', '{"a":[1,2]}', '"],"']);
    expect(jsonElements('[]')).toEqual([]);
    expect(jsonElements('{}')).toBeUndefined();
  });
});

describe('jsonString', () => {
  it('decodes strings only', () => {
    expect(jsonString('"a\\n"')).toBe('a\n');
    expect(jsonString('1')).toBeUndefined();
    expect(jsonString('"broken')).toBeUndefined();
  });
});

it('members are sorted by name, with values unchanged', () => {
  expect(sortJson('{"b": [{"d":1.0,"c":2}], "a": 9007199254740993}')).toBe(
    '{"a":9007199254740993,"b":[{"c":2,"d":1.0}]}',
  );
  expect(sortJson('not JSON')).toBe('not JSON');
});
