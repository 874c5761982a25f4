import { expect, it } from 'vitest';
import {
  freeName,
  nameFault,
  review,
  toServerName,
  whyUnread,
  withServers,
} from './review-and-add-server';

const draft = { name: 'b', entry: '{"command":"x"}' };
const places = (text: string) => withServers(text, [draft])?.map(({ path }) => path);

it('a server is added to the existing servers of the file, or to a new block', () => {
  expect(withServers('', [draft])).toEqual([
    { op: 'add', path: '/mcpServers/b', text: '{"command":"x"}' },
  ]);
  expect(places('{"servers":{"a":{}}}')).toEqual(['/servers/b']);
  expect(places('{"mcp":{"servers":{}}}')).toEqual(['/mcp/servers/b']);
  expect(places('{"bridge":{}}')).toEqual(['/mcpServers/b']);
  expect(places('mcpServers:\n  a:\n')).toBeUndefined();
});

it('a review says that a server is disabled', () => {
  expect(review('{"command":"x","disabled":true}').disabled).toBe(true);
  expect(review('{"command":"x","enabled":false}').disabled).toBe(true);
  expect(review('{"command":"x","enabled":true}').disabled).toBe(false);
});

it('a name says what is wrong with it, and a free one is derived from it', () => {
  const taken = new Set(['memory', 'memory-2', 'a-b', 'x'.repeat(32)]);
  expect(nameFault('memory', taken)).toMatch('already exists');
  expect(nameFault('a.b', taken)).toMatch('already exists');
  expect(nameFault('a__c', taken)).toMatch('separates');
  expect(nameFault('y'.repeat(80), taken)).toMatch('at most 60');
  expect(nameFault('a b', taken)).toMatch('without spaces');
  expect(nameFault('new', taken)).toBeUndefined();
  for (const name of ['memory', 'a.b', 'x'.repeat(40), 'a__c', 'new']) {
    const free = freeName(toServerName(name), taken);
    expect(nameFault(free, taken), free).toBeUndefined();
  }
  expect(freeName('memory', taken)).toBe('memory-3');
});

it('a text without a server says why', () => {
  expect(whyUnread('{\n  "mcpServers": {"a": {"command": "x"')).toMatch('line 2, column 38');
  expect(whyUnread('C:\\Program Files\\x.exe')).toMatch('Windows');
  expect(whyUnread('cd /x && npx -y foo')).toMatch('&&');
  expect(whyUnread('hello')).toMatch(/^No server found/);
  expect(whyUnread('{"a": 1}')).toMatch(/^No server found/);
});
