import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { completionsAt, type Schema, schemaViolations } from './config-completion-and-validation';
import type { JsonPath } from './jsonc';

const schema: Schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../config/schema.json'), 'utf8'),
);

/** The text without the caret, and the position of the caret. */
const at = (text: string): [string, number] => [text.replace('|', ''), text.indexOf('|')];
const words = (text: string, base?: JsonPath) =>
  completionsAt(schema, ...at(text), base).map((one) => one.text);

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
  expect(text.slice(0, first?.from) + first?.insert + text.slice(first?.to)).toBe(
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

it('a part of the configuration is completed and checked as if it were in the file', () => {
  const entry = ['mcpServers', 'a'];
  expect(words('{ "comm|" }', entry)[0]).toBe('command');
  expect(words('{ "sandbox": { | } }', entry)).toContain('mode');
  expect(words('[{ "th|" }]', ['policy', 'rules'])[0]).toBe('then');
  expect(words('| ', entry)).toEqual([]);
  expect(schemaViolations(schema, '{\n  "comand": "npx"\n}', entry)).toEqual([
    { line: 2, column: 3, path: 'comand', kind: 'unknown', wanted: 'command' },
  ]);
  expect(schemaViolations(schema, '[{ "then": "maybe" }]', ['policy', 'rules'])).toMatchObject([
    { line: 1, column: 4, path: '0.then', kind: 'choice' },
  ]);
});

it('the default configuration is valid', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../config/default.jsonc'), 'utf8');
  expect(schemaViolations(schema, text)).toEqual([]);
});

it('conditions on arguments are known by their pattern', () => {
  const rule =
    '[{ "tool": "files__read", "where": { "/path": { "under": "/tmp" } }, "then": "allow" }]';
  expect(schemaViolations(schema, rule, ['policy', 'rules'])).toEqual([]);
  expect(words('[{ "where": { "/path": { "un|" } } }]', ['policy', 'rules'])[0]).toBe('under');
});
