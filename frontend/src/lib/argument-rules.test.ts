import { expect, test } from 'vitest';
import { describeRules, describeWhere, newRule, ruleEdits, rulesOf } from './argument-rules';
import { edited, setEdit } from './config-edits';

test('new rules come first, also in a file without rules', () => {
  const rule = newRule({ tool: 'c', action: 'allow' });
  expect(describeRules(edited([{ tool: 'a' }], [rule]))?.map((r) => r.text)).toEqual(['c', 'a']);
  expect(ruleEdits('{}', [rule])).toEqual([setEdit(['policy', 'rules'], []), within0(rule)]);
  const file = '{"policy": {"rules": [ {} ]}}';
  expect([rulesOf(file), ruleEdits(file, [rule])]).toEqual(['[ {} ]', [within0(rule)]]);
  expect(describeRules(edited([], [newRule({ action: 'ask' })]))).toEqual([
    { action: 'ask', text: 'every tool', because: '' },
  ]);
});

const within0 = (rule: object) => ({ ...rule, path: '/policy/rules/0' });

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
