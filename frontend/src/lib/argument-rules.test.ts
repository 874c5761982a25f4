import { expect, test } from 'vitest';
import {
  addRule,
  describeRules,
  describeWhere,
  moveRule,
  rulesOf,
  withRules,
} from './argument-rules';

const file = `{
  // mine
  "policy": {
    "rules": [
      // first
      {"tool": "a", "then": "ask"}, // a
      {"tool": "b", "then": "deny", "where": {"/n": {"max": 9007199254740993}}} // b
      // end
    ]
  }
}
`;

test('moved rules keep their comments and spelling', () => {
  const moved = moveRule(rulesOf(file), 1, 0);
  expect(moved.indexOf('"b"')).toBeLessThan(moved.indexOf('// b'));
  expect(moved.indexOf('// b')).toBeLessThan(moved.indexOf('// first'));
  expect(moved.indexOf('// first')).toBeLessThan(moved.indexOf('"a"'));
  expect(moved).toContain('9007199254740993');
  expect(describeRules(moved)?.map((rule) => rule.action)).toEqual(['deny', 'ask']);
  expect(moveRule(moved, 0, 1).replace(/\s/g, '')).toBe(rulesOf(file).replace(/\s/g, ''));
  expect(withRules(file, rulesOf(file))).toBe(file);
});

test('new rules come first, and rules can be removed', () => {
  const more = addRule(rulesOf(file), { tool: 'c', action: 'allow' });
  expect(describeRules(more)?.map((rule) => rule.text)).toEqual([
    'c',
    'a',
    'b when n is at most 9007199254740992',
  ]);
  expect(describeRules(moveRule(more, 1, undefined))?.length).toBe(2);
  const first = withRules('{}', addRule(rulesOf('{}'), { action: 'ask' })) ?? '';
  expect(describeRules(rulesOf(first))).toEqual([
    { action: 'ask', text: 'every tool', because: '' },
  ]);
});

test('conditions are described in English', () => {
  expect(
    describeWhere({
      '/path': { notUnder: ['/srv', '~/x'] },
      not: { '/url': { host: '*.a.b' } },
      any: [{ '/n': { min: 1, max: 2 } }, { '': { present: false } }],
    }),
  ).toBe(
    'path is not in /srv or ~/x and not (url has the host *.a.b) and (n is at least 1 and n is at most 2 or the arguments absent)'.replace(
      'the arguments absent',
      'the arguments is absent',
    ),
  );
});
