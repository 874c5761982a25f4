import { expect, it } from 'vitest';
import { readTokens } from './filters';

it('extracts complete filters from the search text', () => {
  expect(readTokens('server:files outcome:error took:>1.5s "some text" ')).toEqual({
    found: { server: 'files', outcome: 'tool_error', slow: '1500' },
    rest: '"some text"',
  });
  expect(readTokens('client:"Claude Code" budget ')).toEqual({
    found: { client: 'Claude Code' },
    rest: 'budget',
  });
});

it('leaves incomplete filters and other text unchanged', () => {
  for (const text of ['server:fi', 'https://x.org/a ', 'took:>soon ', 'a b ', 'constructor:x '])
    expect(readTokens(text)).toEqual({ found: {}, rest: text });
});
