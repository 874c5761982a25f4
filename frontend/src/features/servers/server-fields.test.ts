import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dots } from '@/lib/mask-secrets';
import {
  fieldsOf,
  filledIn,
  isMissing,
  secretsOf,
  withFields,
  withOpenField,
  withoutSecrets,
} from './server-fields';

const names = (entry: object) => fieldsOf(JSON.stringify(entry)).map((field) => field.name);
const secrets = (entry: object) => secretsOf(JSON.stringify(entry), {}).map((field) => field.was);

it('each variable and header is a field, and secrets are those with a telling name or format', () => {
  const entry = {
    command: 'x',
    env: { BRAVE_API_KEY: 'BSA1', LEVEL: 'debug', ODD: 'ghp_0123456789abcdef', REF: '${TOKEN}' },
    headers: { Authorization: 'Bearer abc' },
  };
  expect(names(entry)).toEqual(['BRAVE_API_KEY', 'LEVEL', 'ODD', 'REF', 'Authorization']);
  expect(secrets(entry)).toEqual(['BSA1', 'ghp_0123456789abcdef', 'Bearer abc']);
});

it('secrets in arguments and addresses are fields, too', () => {
  expect(secrets({ command: 'x', args: ['-y', 'a', '--api-key=k1', '--token', 't1'] })).toEqual([
    'k1',
    't1',
  ]);
  const docker = { command: 'docker', args: ['run', '-e', 'GITHUB_TOKEN=ghp_1', '-e', 'A=b', 'x'] };
  expect(names(docker)).toEqual(['GITHUB_TOKEN']);
  expect(secrets(docker)).toEqual(['ghp_1']);
  expect(secrets({ url: 'https://u:p1@h.example/mcp?a=1&api_key=k2&token=t2' })).toEqual([
    'p1',
    'k2',
    't2',
  ]);
  expect(secrets({ url: 'https://h.example/mcp?a=1' })).toEqual([]);
});

it('a placeholder is filled in where it is, as JSON', () => {
  const entry = '{"args":["--root=/path/to/dir"],"cwd":"/w","env":{"KEY":"YOUR_API_KEY"}}';
  const [root, key] = fieldsOf(entry);
  expect(root?.open && key?.open).toBe(true);
  const filled = { [root?.key ?? '']: { value: 'C:\\a "b" $&' } };
  expect(JSON.parse(filledIn(entry, filled))).toEqual({
    args: ['--root=C:\\a "b" $&'],
    cwd: '/w',
    env: { KEY: 'YOUR_API_KEY' },
  });
});

it('each placeholder is missing until it is replaced, or its own text is entered', () => {
  const entry = JSON.stringify({
    command: '/path/to/venv/bin/python',
    args: ['postgres://<user>:<password>@db', '/Users/username/Desktop', '--key', 'YOUR_KEY', 'a'],
    cwd: 'C:\\path\\to\\project',
    env: { API_KEY: '<YOUR_API_KEY>', TOKEN: 'sk-...', EMPTY: '', LEVEL: 'debug' },
  });
  const missing = (filled = {}) =>
    fieldsOf(entry)
      .filter((field) => isMissing(field, filled))
      .map((field) => field.was);
  expect(missing()).toEqual([
    '/path/to/venv/bin/python',
    'C:\\path\\to\\project',
    '<user>',
    '<password>',
    '/Users/username/Desktop',
    'YOUR_KEY',
    '<YOUR_API_KEY>',
    'sk-...',
  ]);
  const literal = fieldsOf(entry).map((field) => [field.key, { value: field.was }]);
  expect(missing(Object.fromEntries(literal))).toEqual([]);
  const address = JSON.stringify({ url: 'https://<host>/mcp?token=abc&team=<team>' });
  const parts = fieldsOf(address);
  expect(parts.map((field) => isMissing(field, {}))).toEqual([true, false, true]);
  const values = ['h.example', 'abc', 'red'];
  const filled = Object.fromEntries(parts.map(({ key }, i) => [key, { value: values[i] ?? '' }]));
  expect(JSON.parse(filledIn(address, filled)).url).toBe(
    'https://h.example/mcp?token=abc&team=red',
  );
});

it('the daemon recognizes the same placeholders', () => {
  const daemon = readFileSync(
    join(import.meta.dirname, '../../../../config/placeholder.go'),
    'utf8',
  );
  const page = readFileSync(join(import.meta.dirname, 'server-fields.ts'), 'utf8');
  const pattern = /LazyRegexp\(`(.*)`\)/.exec(daemon)?.[1];
  expect(page).toContain(`/${pattern}/g;`);
});

it('an entry is written without its secrets, for the file and for a draft', () => {
  const entry = JSON.stringify({
    url: 'https://u:p1@h.example/?key=k2&q=1',
    headers: { 'X-Key': 'abc', Accept: 'text' },
  });
  const text = withFields(entry, secretsOf(entry, {}), (field) => `<${field.name}>`);
  expect(JSON.parse(text)).toEqual({
    url: 'https://u:<Password>@h.example/?key=<key>&q=1',
    headers: { 'X-Key': '<X-Key>', Accept: 'text' },
  });
  const draft = withoutSecrets(entry, {});
  for (const secret of ['p1', 'k2', 'abc']) expect(draft).not.toContain(secret);
  expect(fieldsOf(draft).filter((field) => field.was === dots)).toHaveLength(3);
});

it('a value that a test misses becomes a field, where the entry refers to it or in its environment', () => {
  const open = (entry: object) => fieldsOf(withOpenField(JSON.stringify(entry), 'TOK'));
  expect(open({ command: 'x', big: 1 }).filter((field) => isMissing(field, {}))).toMatchObject([
    { path: ['env', 'TOK'], open: true },
  ]);
  for (const reference of ['${TOK}', '${env:TOK}', '${secret:TOK}'])
    expect(open({ headers: { Authorization: `Bearer ${reference}`, A: '${TOK2}' } })).toMatchObject(
      [
        { was: 'Bearer <TOK>', open: true, secret: true },
        { was: '${TOK2}', open: false },
      ],
    );
});
