import { expect, it } from 'vitest';
import type { CallDetail } from '@/types/api';
import { asCommand, asCurl, asJson, canRepeat } from './copy-as';

const call = {
  id: '9',
  server: 'files',
  tool: 'read',
  method: 'tools/call',
  fromServer: false,
  arguments: `{"path":"it's $(rm -rf /)","n":9007199254740993}`,
  result: '{"n":1.0}',
} as CallDetail;

it('untrusted text is quoted as one argument of the shell', () => {
  expect(asCommand(call)).toBe(
    `drawbridge call files read '{"path":"it'\\''s $(rm -rf /)","n":9007199254740993}'`,
  );
  expect(asCurl(call, 'http://127.0.0.1:7575')).toContain(
    `--data '{"server":"files","tool":"read","arguments":{"path":"it'\\''s $(rm -rf /)"`,
  );
});

it('a saved call contains its payloads with all digits', () => {
  const text = asJson(call);
  expect(text).toContain('"n":9007199254740993');
  expect(text).toContain('"result":{"n":1.0}');
  expect(JSON.parse(text)).toMatchObject({ id: '9', arguments: { n: 9007199254740992 } });
});

it('only a tool call of a client can be repeated', () => {
  expect(canRepeat(call)).toBe(true);
  expect(canRepeat({ ...call, fromServer: true })).toBe(false);
  expect(canRepeat({ ...call, method: 'prompts/get' })).toBe(false);
});
