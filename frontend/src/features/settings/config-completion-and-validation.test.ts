import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  caretAt,
  completionsAt,
  type Schema,
  schemaViolations,
} from './config-completion-and-validation';

const schema: Schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../config/schema.json'), 'utf8'),
);

/** The text without the caret, and the position of the caret. */
const at = (text: string): [string, number] => [text.replace('|', ''), text.indexOf('|')];
const words = (text: string) => completionsAt(schema, ...at(text)).map((one) => one.text);

it('keys are completed where they are valid, matching prefixes first', () => {
  expect(words('{ | }')).toContain('mcpServers');
  expect(words('{ "hist|" }')).toEqual(['history']);
  expect(words('{ "mcpServers": { "a": { "comm|" } } }')[0]).toBe('command');
  expect(words('{ "mcpServers": { "a": { "command": "x", "re|')).toContain('restart');
  expect(words('{ // a comment {\n "history": { | } }')).toContain('keepDays');
  expect(words('{ "mcpServers": { "| } }')).toEqual([]); // the user chooses the name
});

it('values are completed if the schema contains them', () => {
  expect(words('{ "globalSettings": { "approveNewCommands": | } }')).toEqual(['off', 'ask']);
  expect(words('{ "globalSettings": { "approveNewCommands": "a|" } }')).toEqual(['ask']);
  expect(words('{ "history": { "enabled": f| } }')).toEqual(['false']);
  expect(words('{ "history": { "keepDays": | } }')).toEqual([]);
  expect(words('nothing |')).toEqual([]);
});

it('a completion replaces the typed text', () => {
  const [text, caret] = at('{ "history": { "keepD|" } }');
  const [first] = completionsAt(schema, text, caret);
  const { from, to } = caretAt(text, caret) ?? { from: 0, to: 0 };
  expect(text.slice(0, from) + first?.insert + text.slice(to)).toBe(
    '{ "history": { "keepDays":  } }',
  );
});

it('violations of the schema are reported with their lines', () => {
  expect(
    schemaViolations(
      schema,
      '{\n  "history": {\n    "keepDay": 3,\n    "maxBytes": "much",\n    "keepDays": -1\n  },\n  "globalSettings": { "approveNewCommands": "maybe" }\n}',
    ),
  ).toEqual([
    { line: 3, column: 5, path: 'history.keepDay', kind: 'unknown', wanted: 'keepDays' },
    { line: 4, column: 5, path: 'history.maxBytes', kind: 'type', wanted: 'integer' },
    { line: 5, column: 5, path: 'history.keepDays', kind: 'range', wanted: '≥ 0' },
    {
      line: 7,
      column: 23,
      path: 'globalSettings.approveNewCommands',
      kind: 'choice',
      wanted: 'off, ask',
    },
  ]);
  expect(schemaViolations(schema, '{ "__proto__": 1, "mcpServers": {')).toEqual([]);
});

it('the default configuration is valid', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../config/default.jsonc'), 'utf8');
  expect(schemaViolations(schema, text)).toEqual([]);
});
