import { afterEach, expect, test, vi } from 'vitest';
import { convertDraft } from './api';

afterEach(() => vi.unstubAllGlobals());

function answer(status: number, body: unknown) {
  const fetch = vi.fn(async () => new Response(JSON.stringify(body), { status }));
  vi.stubGlobal('fetch', fetch);
  return fetch;
}

test('a pasted server becomes what the daemon makes of it', async () => {
  const fetch = answer(200, { entry: { command: 'x', excludeTools: ['drop'] }, notes: ['a note'] });
  const entry = '{"command":"x","disabledTools":["drop"],"n":9007199254740993}';
  const converted = await convertDraft({ name: 'db', entry });
  expect(JSON.parse(converted.entry)).toEqual({ command: 'x', excludeTools: ['drop'] });
  expect(converted.notes).toEqual(['a note']);
  expect(JSON.stringify(fetch.mock.calls)).toContain('9007199254740993');
});

test('a server that the daemon refuses is not added', async () => {
  answer(422, { code: 'validation', detail: 'cannot add "db"' });
  const converted = await convertDraft({ name: 'db', entry: '{}' });
  expect(converted.refused).toContain('annot add "db"');
});
