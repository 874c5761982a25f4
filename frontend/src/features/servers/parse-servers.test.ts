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

test('what a shell exports before a command is given to it', async () => {
  const fetch = vi.fn(async () => new Response('{"servers":[]}'));
  vi.stubGlobal('fetch', fetch);
  const sent = async (text: string) => {
    await parseServers(text, new AbortController().signal);
    return JSON.parse((fetch.mock.calls.at(-1) as unknown as [string, { body: string }])[1].body)
      .text;
  };
  const want = `A=b C="d e" npx -y x`;
  expect(await sent('export A=b; export C="d e" && npx -y x')).toBe(want);
  expect(await sent('export A=b\nexport C="d e"\nnpx -y x')).toBe(want);
  expect(await sent('npx -y export A=b; x')).toBe('npx -y export A=b; x');
});
