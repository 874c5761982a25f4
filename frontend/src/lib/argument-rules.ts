import { createScanner, parseTree, type SyntaxKind } from 'jsonc-parser';
import { blockAt, editBlock, readJsonc, setValue } from '@/lib/jsonc';
import { isRecord } from '@/lib/own-property';
import { texts } from '@/lib/texts';

/** Argument rules as they stand in the configuration: a list with comments, edited as text. */

const t = texts.rules;
const path = ['policy', 'rules'];

type Json = Record<string, unknown>;

const list = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((one) => String(one)).join(t.or);

/** The list of rules in a configuration file, '[]' if it has none. */
export const rulesOf = (file: string): string => blockAt(file, path) ?? '[]';

/** The file with another list of rules; undefined if the file cannot be edited. */
export function withRules(file: string, rules: string): string | undefined {
  return editBlock(file, path, () => rules) ?? setValue(file, path, rules);
}

interface Part {
  before: string;
  source: string;
  after: string;
}

const comma = 5 as SyntaxKind;
const sameLine = new Set([12, 13, 15]); // comments and blanks

/** The rules of a list, each with the comments before it and on its line. */
function partsOf(rules: string): { parts: Part[]; rest: string } | undefined {
  const tree = readJsonc(rules).fault
    ? undefined
    : parseTree(rules, [], { allowTrailingComma: true });
  if (tree?.type !== 'array') return undefined;
  let at = tree.offset + 1;
  const parts = (tree.children ?? []).map((child) => {
    const end = child.offset + child.length;
    const scanner = createScanner(rules);
    scanner.setPosition(end);
    let after = '';
    let next = end;
    for (
      let token = scanner.scan();
      sameLine.has(token) || token === comma;
      token = scanner.scan()
    ) {
      next = scanner.getPosition();
      if (token !== comma) after += scanner.getTokenValue();
    }
    const part = {
      before: rules.slice(at, child.offset),
      source: rules.slice(child.offset, end),
      after,
    };
    at = next;
    return part;
  });
  return { parts, rest: rules.slice(at, tree.offset + tree.length - 1) };
}

function joined({ parts, rest }: { parts: Part[]; rest: string }): string {
  const items = parts.map(
    ({ before, source, after }, index) =>
      `${before}${source}${index < parts.length - 1 ? ',' : ''}${after}`,
  );
  return `[${items.join('')}${rest}]`;
}

/** The list with a rule at another place; with to undefined, without it. */
export function moveRule(rules: string, from: number, to: number | undefined): string {
  const all = partsOf(rules);
  const [part] = all?.parts.splice(from, 1) ?? [];
  if (!all || !part) return rules;
  if (to !== undefined) all.parts.splice(to, 0, part);
  return joined(all);
}

/** The list with a rule before all others; action is its "then". */
export function addRule(rules: string, { action, ...rule }: Json & { action: string }): string {
  const all = partsOf(rules);
  if (!all) return rules;
  const source = JSON.stringify(
    Object.fromEntries([...Object.entries(rule), ['then', action]]),
    null,
    2,
  ).replaceAll('\n', '\n  ');
  all.parts.unshift({ before: '\n  ', source, after: '' });
  if (all.parts.length === 1 && !all.rest.includes('\n')) all.rest = `${all.rest}\n`;
  return joined(all);
}

/** The rules of a list as sentences; undefined if it is not a list of objects. */
export function describeRules(
  rules: string,
): { action: string; text: string; because: string }[] | undefined {
  const { value, fault } = readJsonc(rules);
  if (fault || !Array.isArray(value) || !value.every(isRecord)) return undefined;
  return value.map((rule) => ({
    action: String(rule.then ?? ''),
    text: [
      rule.tool ? String(rule.tool) : t.everyTool,
      rule.servers && t.ofServers(list(rule.servers)),
      rule.clients && t.byClients(list(rule.clients)),
      rule.profiles && t.inProfiles(list(rule.profiles)),
      rule.where !== undefined && t.when(describeWhere(rule.where)),
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
      if (name === 'not') return t.not(describeWhere(value));
      if (name === 'all' || name === 'any')
        return `(${(Array.isArray(value) ? value : []).map(describeWhere).join(name === 'all' ? t.and : t.or)})`;
      return describeTests(name === '' ? t.allArguments : name.slice(1), value);
    })
    .join(t.and);
}

function describeTests(name: string, tests: unknown): string {
  if (!isRecord(tests)) return `${name} ?`;
  return Object.entries(tests)
    .map(([test, value]) => {
      const words = Object.hasOwn(t.tests, test) ? t.tests[test as keyof typeof t.tests] : test;
      if (test === 'present') return `${name} ${value === false ? t.absent : t.present}`;
      return `${name} ${words} ${list(value)}`;
    })
    .join(t.and);
}
