import { textEdit, within } from '@/lib/config-edits';
import { blockAt, readJsonc } from '@/lib/jsonc';
import { isRecord, ownValue, withoutPrototypes } from '@/lib/own-property';
import type { Edit } from '@/types/api';

const and = ' and ';

const or = ' or ';

const testsTexts = withoutPrototypes({
  under: 'is in',
  notUnder: 'is not in',
  glob: 'matches the pattern',
  matches: 'matches the regular expression',
  host: 'has the host',
  min: 'is at least',
  max: 'is at most',
  minBytes: 'has a byte size of at least',
  maxBytes: 'has a byte size of at most',
} as const);

export const thens = { allow: 'Allow', ask: 'Ask', deny: 'Deny' };

export const rulesPath = ['policy', 'rules'];

type Json = Record<string, unknown>;

const list = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((one) => String(one)).join(or);

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

/** What a rule does to which calls, from its JSON text; undefined if that is not an object. */
export function ruleInWords(rule: string): string | undefined {
  const [words] = describeRules([readJsonc(rule).value]) ?? [];
  return words && `${ownValue(thens, words.action) ?? words.action}: ${words.text}`;
}

/** A condition in English. */
export function describeWhere(where: unknown): string {
  if (!isRecord(where)) return '?';
  return Object.entries(where)
    .map(([name, value]) => {
      if (name === 'not') return `not (${describeWhere(value)})`;
      if (name === 'all' || name === 'any')
        return `(${(Array.isArray(value) ? value : []).map(describeWhere).join(name === 'all' ? and : or)})`;
      return describeTests(name === '' ? 'the arguments' : name.slice(1), value);
    })
    .join(and);
}

/** A test without its value, such as "path is in". */
export const describeTest = (pointer: string, test: string): string =>
  `${pointer === '' ? 'the arguments' : pointer.slice(1)} ${Object.hasOwn(testsTexts, test) ? testsTexts[test as keyof typeof testsTexts] : test}`;

function describeTests(name: string, tests: unknown): string {
  if (!isRecord(tests)) return `${name} ?`;
  const { min, max, ...others } = tests;
  if (min !== undefined && min === max)
    return [
      `${name} is ${list(min)}`,
      ...(Object.keys(others).length > 0 ? [describeTests(name, others)] : []),
    ].join(and);
  return Object.entries(tests)
    .map(([test, value]) => {
      const words = Object.hasOwn(testsTexts, test)
        ? testsTexts[test as keyof typeof testsTexts]
        : test;
      if (test === 'present') return `${name} ${value === false ? 'is absent' : 'is present'}`;
      return `${name} ${words} ${list(value)}`;
    })
    .join(and);
}
