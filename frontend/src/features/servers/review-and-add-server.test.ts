import { expect, it } from 'vitest';
import { review, withServers } from './review-and-add-server';

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
