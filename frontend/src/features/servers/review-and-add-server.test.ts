import { expect, it } from 'vitest';
import { replacePlaceholder, review, withServers } from './review-and-add-server';

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
