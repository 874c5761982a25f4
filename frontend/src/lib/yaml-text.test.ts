import { describe, expect, it } from 'vitest';
import { formatYaml } from './yaml-text';

describe('formatYaml', () => {
  it('formats collections with indentation', () => {
    expect(
      formatYaml('{"city":"Oslo","days":[{"at":"Mon","rain":true},[1,[]],{}],"none":null}'),
    ).toBe(
      [
        'city: Oslo',
        'days:',
        '  - at: Mon',
        '    rain: true',
        '  - - 1',
        '    - []',
        '  - {}',
        'none: null',
      ].join('\n'),
    );
  });
  it('keeps the spelling of every number', () => {
    expect(formatYaml('[9007199254740993, 1.0, 1e400, -0]')).toBe(
      '- 9007199254740993\n- 1.0\n- 1e400\n- -0',
    );
  });
  it('quotes strings that would be parsed as another type', () => {
    expect(
      formatYaml(
        '{"yes":"no","a: b":"x # y","1":"2026-01-01","e":"","t":" x","s":"- a","c":"\\u001b[2J"}',
      ),
    ).toBe(
      [
        '"yes": "no"',
        '"a: b": "x # y"',
        '"1": "2026-01-01"',
        'e: ""',
        't: " x"',
        's: "- a"',
        'c: "\\e[2J"',
      ].join('\n'),
    );
  });
  it('writes multi-line strings as block scalars', () => {
    expect(
      formatYaml('{"a":"one\\n  two\\n","b":["x\\n\\ny"],"c":" x\\ny","d":"p\\nq\\n\\n"}'),
    ).toBe(
      [
        'a: |',
        '  one',
        '    two',
        'b:',
        '  - |-',
        '    x',
        '',
        '    y',
        'c: |2-',
        '   x',
        '  y',
        'd: |+',
        '  p',
        '  q',
        '',
      ].join('\n'),
    );
  });
  it('handles single values, invalid text and deep nesting', () => {
    expect(formatYaml('"a\\nb"')).toBe('|-\na\nb');
    expect(formatYaml('{"a": [1,')).toBe('{"a": [1,');
    const deep = `${'['.repeat(3000)}${']'.repeat(3000)}`;
    expect(formatYaml(deep)).toContain('[[[[');
  });
});
