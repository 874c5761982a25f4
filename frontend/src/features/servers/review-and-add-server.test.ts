import { expect, it } from 'vitest';
import { plainJson } from '@/lib/jsonc';
import { replacePlaceholder, review, withServers } from './review-and-add-server';

const draft = { name: 'b', entry: '{"command":"x"}' };
const parsed = (text: string) => JSON.parse(plainJson(withServers(text, [draft]) ?? 'null'));

it('a server is added to the existing servers of the file, or to a new block', () => {
  expect(parsed('')).toEqual({ mcpServers: { b: { command: 'x' } } });
  expect(parsed('{"servers":{"a":{}}}').servers).toHaveProperty('b');
  expect(parsed('{"mcp":{"servers":{}}}').mcp.servers).toHaveProperty('b');
  expect(parsed('{"bridge":{}}')).toEqual({ bridge: {}, mcpServers: { b: { command: 'x' } } });
  expect(withServers('mcpServers:\n  a:\n', [draft])).toBeUndefined();
});

it('a review shows all arguments and finds placeholders', () => {
  const seen = review(
    '{"command":"npx","args":["-y","a","/path/to/dir","{}"],"env":{"KEY":"YOUR_API_KEY","B":"${B}"},"cwd":"/w"}',
  );
  expect(seen.argv).toEqual(['npx', '-y', 'a', '/path/to/dir', '{}']);
  expect(seen.env).toEqual([
    ['KEY', 'YOUR_API_KEY'],
    ['B', '$' + '{B}'],
  ]);
  expect(seen.placeholders).toEqual(['/path/to/dir', 'YOUR_API_KEY']);
});

it('a review says that a server is disabled', () => {
  expect(review('{"command":"x","disabled":true}').disabled).toBe(true);
  expect(review('{"command":"x","enabled":false}').disabled).toBe(true);
  expect(review('{"command":"x","enabled":true}').disabled).toBe(false);
});

it('a placeholder is replaced by the selected path as JSON', () => {
  const entry = '{"args":["--root=/path/to/dir"],"cwd":"/path/to/dir"}';
  expect(JSON.parse(replacePlaceholder(entry, '/path/to/dir', 'C:\\a "b" $&'))).toEqual({
    args: ['--root=C:\\a "b" $&'],
    cwd: '/path/to/dir',
  });
});
