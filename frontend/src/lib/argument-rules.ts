import { textEdit, within } from '@/lib/config-edits';
import { blockAt } from '@/lib/jsonc';
import { isRecord } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Edit } from '@/types/api';

const t = texts.rules;
export const rulesPath = ['policy', 'rules'];

type Json = Record<string, unknown>;

const list = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((one) => String(one)).join(t.or);

/** The list of rules in a configuration file, '[]' if it has none. */
export const rulesOf = (file: string): string => blockAt(file, rulesPath) ?? '[]';

/** Edits of the list of rules as edits of the file. */
export const ruleEdits = (file: string, edits: Edit[]): Edit[] =>
  within(
    rulesPath,
    blockAt(file, rulesPath) === undefined ? [textEdit([], '[]'), ...edits] : edits,
  );

/** The edit that adds a rule before all others; action is its "then". */
export const newRule = ({ action, ...rule }: Json & { action: string }): Edit =>
  textEdit(
    [0],
    JSON.stringify(Object.fromEntries([...Object.entries(rule), ['then', action]]), null, 2),
  );

/** The rules of a list as sentences; undefined if it is not a list of objects. */
export function describeRules(
  rules: unknown,
): { action: string; text: string; because: string }[] | undefined {
  if (!Array.isArray(rules) || !rules.every(isRecord)) return undefined;
  return rules.map((rule) => ({
    action: String(rule.then ?? ''),
    text: [
      rule.tool ? String(rule.tool) : 'every tool',
      rule.servers && `of ${list(rule.servers)}`,
      rule.clients && `called by ${list(rule.clients)}`,
      rule.profiles && `in profile ${list(rule.profiles)}`,
      rule.where !== undefined && `when ${describeWhere(rule.where)}`,
    ]
      .filter(Boolean)
      .join(' '),
    because: typeof rule.because === 'string' ? rule.because : '',
  }));
}

/** A condition in English. */
export function describeWhere(where: unknown): string {
  if (!isRecord(where)) return '?';
  return Object.entries(where)
    .map(([name, value]) => {
      if (name === 'not') return `not (${describeWhere(value)})`;
      if (name === 'all' || name === 'any')
        return `(${(Array.isArray(value) ? value : []).map(describeWhere).join(name === 'all' ? t.and : t.or)})`;
      return describeTests(name === '' ? 'the arguments' : name.slice(1), value);
    })
    .join(t.and);
}

function describeTests(name: string, tests: unknown): string {
  if (!isRecord(tests)) return `${name} ?`;
  return Object.entries(tests)
    .map(([test, value]) => {
      const words = Object.hasOwn(t.tests, test) ? t.tests[test as keyof typeof t.tests] : test;
      if (test === 'present') return `${name} ${value === false ? 'is absent' : 'is present'}`;
      return `${name} ${words} ${list(value)}`;
    })
    .join(t.and);
}
