import { expect, it } from 'vitest';
import { readExport } from './sharing-api';

it('names what is in an export and gives its text on as it is', () => {
  const text =
    '{"mcpServers":{"a":{"n":9007199254740993},"b":{}},"profiles":{"p":{}},"missingSecrets":["K"]}';
  expect(readExport(text)).toEqual({
    text,
    servers: ['a', 'b'],
    profiles: ['p'],
    missingSecrets: ['K'],
  });
  expect(readExport('{}')).toEqual({ text: '{}', servers: [], profiles: [], missingSecrets: [] });
});
