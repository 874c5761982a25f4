import { expect, it } from 'vitest';
import { readTokens } from './filters';

it('takes complete filters out of the text of the search', () => {
  expect(readTokens('server:files outcome:error took:>1.5s "some text" ')).toEqual({
    found: { server: 'files', outcome: 'tool_error', slow: '1500' },
    rest: '"some text"',
  });
  expect(readTokens('client:"Claude Code" budget ')).toEqual({
    found: { client: 'Claude Code' },
    rest: 'budget',
  });
});

it('leaves what is not complete, and what is no filter', () => {
  for (const text of ['server:fi', 'https://x.org/a ', 'took:>soon ', 'a b ', 'constructor:x '])
    expect(readTokens(text)).toEqual({ found: {}, rest: text });
});
