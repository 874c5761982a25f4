import { afterEach, expect, test, vi } from 'vitest';
import { parseServers } from './api';

afterEach(() => vi.unstubAllGlobals());

test('the servers of a text keep the digits of their numbers, notes and refusals', async () => {
  const answer =
    '{"servers":[{"name":"db","entry":{"n":9007199254740993},"notes":["a note"]},{"name":"no","entry":{},"notes":[],"refused":"cannot add \\"no\\""}],"unreadableLink":false}';
  const fetch = vi.fn(async () => new Response(answer));
  vi.stubGlobal('fetch', fetch);
  const { servers, unreadableLink } = await parseServers('a\n"b"', new AbortController().signal);
  expect(servers[0]?.entry).toContain('9007199254740993');
  expect(servers.map(({ name, notes, refused }) => [name, notes, refused])).toEqual([
    ['db', ['a note'], undefined],
    ['no', [], 'cannot add "no"'],
  ]);
  expect(unreadableLink).toBe(false);
  expect(fetch.mock.calls.flat()[1]).toMatchObject({ body: '{"text":"a\\n\\"b\\""}' });
});
