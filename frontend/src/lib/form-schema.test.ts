import { expect, it } from 'vitest';
import { initialText, readSchema } from './form-schema';
import { isNumber, withElement, withMember } from './json-edit';

const kinds = (schema: object) =>
  Object.fromEntries(readSchema(JSON.stringify(schema)).members.map((m) => [m.name, m.field.kind]));

it('each type has its control, and unknown types have a field for JSON', () => {
  expect(
    kinds({
      $defs: { color: { enum: ['red', 'blue'] } },
      properties: {
        a: { type: 'string' },
        b: { type: ['integer', 'null'] },
        c: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
        d: { $ref: '#/$defs/color' },
        e: { oneOf: [{ const: 'x', title: 'An x' }] },
        f: { type: 'array', items: { type: 'number' } },
        g: { type: 'object', properties: { h: { type: 'string' } } },
        i: { type: 'object', additionalProperties: true },
        j: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        k: true,
        l: { $ref: 'https://example.com/schema' },
        m: { $ref: '#/$defs/none' },
      },
    }),
  ).toEqual({
    a: 'text',
    b: 'number',
    c: 'boolean',
    d: 'choice',
    e: 'choice',
    f: 'list',
    g: 'object',
    i: 'json',
    j: 'json',
    k: 'json',
    l: 'json',
    m: 'json',
  });
});

it('defaults and enum values keep their digits', () => {
  const field = readSchema(
    '{"properties":{"n":{"type":"integer","default":9007199254740993},"c":{"enum":[9007199254740993]}},"required":["n","c"]}',
  );
  expect(initialText(field)).toBe('{"n":9007199254740993,"c":9007199254740993}');
});

it('a form starts with all defaults, and text fields have their format', () => {
  const field = readSchema(
    '{"properties":{"a":{"type":"string"},"b":{"type":"string","format":"email","default":"x@y.z"},"c":{"type":"string","format":"uri"}},"required":["a"]}',
  );
  expect(initialText(field)).toBe('{"a":"","b":"x@y.z"}');
  expect(field.members.map((member) => member.field.format)).toEqual([undefined, 'email', 'url']);
});

it('a recursive schema does not cause an endless loop', () => {
  const loop =
    '{"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}';
  expect(readSchema(loop).kind).toBe('object');
  expect(readSchema('{"$ref":"#"}').kind).toBe('json');
  for (const odd of ['', 'null', '[]', '{', '{"properties":3,"type":"object"}', '{"enum":[]}'])
    expect(() => initialText(readSchema(odd))).not.toThrow();
});

it('an edit leaves the rest of the text unchanged', () => {
  expect(withMember('{"a":1.0,"b":1e400}', 'c', '"x"')).toBe(
    '{\n  "a": 1.0,\n  "b": 1e400,\n  "c": "x"\n}',
  );
  expect(withMember('{"a":1.0,"b":2}', 'b', undefined)).toBe('{\n  "a": 1.0\n}');
  expect(withElement('[1.0,2]', 1, undefined)).toBe('[\n  1.0\n]');
  expect(withElement('[]', 9, 'true')).toBe('[\n  true\n]');
});

it('only valid JSON numbers are numbers', () => {
  expect(['0', '-1.5', '1e400', '9007199254740993'].every(isNumber)).toBe(true);
  expect(['', '01', '1.', '.5', '+1', '0x1', 'NaN', '1 '].some(isNumber)).toBe(false);
});
