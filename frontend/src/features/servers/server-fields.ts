import { withMember } from '@/lib/json-edit';
import { jsonMembers } from '@/lib/json-text';
import { type JsonPath, readJsonc, withValue } from '@/lib/jsonc';
import { dots, isSensitive } from '@/lib/mask-secrets';
import { isRecord } from '@/lib/own-property';

/** A part of an entry that the user can fill in before it is added. */
export interface EntryField {
  /** Names the part among those of its entry. */
  key: string;
  /** What the user calls it: the name of a variable, a header or an option, or a placeholder. */
  name: string;
  kind: 'env' | 'headers' | 'args' | 'url';
  path: JsonPath;
  /** Where the part starts in the string at the path, and its text there. */
  at: number;
  was: string;
  /** Whether the text is to be replaced: a placeholder, or a secret that no draft keeps. */
  open: boolean;
  /** Whether the name or the text looks like a secret. */
  secret: boolean;
}

/** What the user has filled in, by the key of the field. */
export type Filled = Record<string, { value?: string; secret?: boolean }>;

/** A placeholder as used in READMEs. The daemon recognizes the same ones (config/placeholder.go). */
const placeholders =
  /<[A-Za-z][^<>]*>|\b(?:YOUR|MY)[-_ ][A-Z0-9_-]+|\byour[-_][a-z0-9_-]+|(?:\b[A-Za-z]:)?[\\/]*\bpath[\\/]+to[\\/][^\s"']*|\/(?:Users|home)\/username\b[^\s"']*|\b[Xx]{4,}\b|^[\w-]*\.{3}$/g;

const refers = (text: string) => /\$\{[^}]+\}/.test(text);

/** The variables and headers of an entry, and the secrets and placeholders in its other values. */
export function fieldsOf(entry: string): EntryField[] {
  const { value } = readJsonc(entry);
  if (!isRecord(value)) return [];
  const fields: EntryField[] = [];
  const add = (kind: EntryField['kind'], path: JsonPath, name: string, at: number, was: string) =>
    fields.push({
      key: JSON.stringify([...path, at]),
      ...{ name, kind, path, at, was },
      open: was === '' || was.includes(dots) || was.search(placeholders) >= 0,
      secret: !refers(was) && kind !== 'url' && isSensitive(name, was),
    });
  /** The placeholders of a text, or else a text in a known format of tokens. */
  const addUnnamed = (kind: 'args' | 'url', path: JsonPath, text: string) => {
    const found = [...text.matchAll(placeholders)];
    for (const { 0: word, index } of found) add(kind, path, word, index, word);
    if (found.length === 0 && isSensitive('', text)) add(kind, path, 'Token', 0, text);
  };
  for (const name of ['command', 'container', 'cwd']) {
    const text = value[name];
    if (typeof text === 'string' && text.search(placeholders) >= 0)
      addUnnamed('args', [name], text);
  }
  const args: unknown[] = Array.isArray(value.args) ? value.args : [];
  args.forEach((arg, i) => {
    if (typeof arg !== 'string') return;
    const before = args[i - 1];
    const option = /^(--?[\w-]+|[A-Za-z_]\w*)=([\s\S]+)$/.exec(arg);
    if (option?.[1] && option[2] && isSensitive(option[1], option[2]))
      add('args', ['args', i], option[1], option[1].length + 1, option[2]);
    else if (
      typeof before === 'string' &&
      /^--?[\w-]+$/.test(before) &&
      isSensitive(before, '') &&
      !/^-/.test(arg)
    )
      add('args', ['args', i], before, 0, arg);
    else addUnnamed('args', ['args', i], arg);
  });
  for (const kind of ['url', 'httpUrl']) {
    const address = value[kind];
    if (typeof address !== 'string') continue;
    const secrets = [
      ...address.matchAll(/([?&]([\w.-]+)=|:\/\/([^/?#\s:@]*):(?=[^/?#\s@]+@))([^&#@]+)/g),
    ];
    const found = secrets
      .filter(([, , name]) => name === undefined || isSensitive(name, ''))
      .map(({ index, 1: before = '', 2: name = 'Password', 4: was = '' }) => {
        return { name, at: index + before.length, was, secret: !refers(was) };
      });
    const others = [...address.matchAll(placeholders)]
      .map(({ 0: was, index: at }) => ({ name: was, at, was, secret: false }))
      .filter(
        ({ at, was }) =>
          !found.some((one) => at < one.at + one.was.length && one.at < at + was.length),
      );
    for (const { name, at, was, secret } of [...found, ...others].sort((a, b) => a.at - b.at)) {
      add('url', [kind], name, at, was);
      (fields.at(-1) as EntryField).secret = secret;
    }
    if (found.length === 0 && others.length === 0) addUnnamed('url', [kind], address);
  }
  for (const kind of ['env', 'headers'] as const)
    for (const [name, raw] of Object.entries(isRecord(value[kind]) ? value[kind] : {}))
      if (['string', 'number', 'boolean'].includes(typeof raw))
        add(kind, [kind, name], name, 0, String(raw));
  return fields;
}

export const isReference = (field: EntryField, filled: Filled) =>
  refers(filled[field.key]?.value ?? field.was);

/** The value of a field; that of an open one is empty until the user fills it in. */
export const valueIn = (field: EntryField, filled: Filled): string =>
  filled[field.key]?.value ?? (field.open ? '' : field.was);

/** Whether the user has yet to replace a placeholder, or to enter a secret that no draft keeps. */
export const isMissing = (field: EntryField, filled: Filled): boolean =>
  field.open && field.was !== '' && valueIn(field, filled) === '';

export const isSecret = (field: EntryField, filled: Filled): boolean =>
  !isReference(field, filled) && (filled[field.key]?.secret ?? field.secret);

/** An entry with a text for each field; undefined leaves what is there. */
export function withFields(
  entry: string,
  fields: EntryField[],
  textOf: (field: EntryField) => string | undefined,
): string {
  const { value } = readJsonc(entry);
  let text = entry;
  const paths = new Map(fields.map((field) => [JSON.stringify(field.path), field.path]));
  for (const [key, path] of paths) {
    const old = path.reduce<unknown>(
      (of, step) => (of as Record<string | number, unknown> | undefined)?.[step],
      value,
    );
    const of = fields.filter((field) => JSON.stringify(field.path) === key);
    const now = of.toReversed().reduce((all, field) => {
      const to = textOf(field);
      return to === undefined
        ? all
        : all.slice(0, field.at) + to + all.slice(field.at + field.was.length);
    }, String(old));
    if (now !== String(old)) text = withValue(text, path, now);
  }
  return text;
}

/** An entry with a placeholder for a variable or secret without a value: where it refers to it, or in its environment. */
export function withOpenField(entry: string, name: string): string {
  const open = `<${name}>`;
  const text = entry.replaceAll(/\$\{(?:env:|secret:)?([^{}]+)\}/g, (reference, of) =>
    of === name ? open : reference,
  );
  if (text !== entry) return text;
  const env = withMember(jsonMembers(entry)?.get('env') ?? '{}', name, JSON.stringify(open));
  return withMember(entry, 'env', env);
}

/** An entry as the user filled it in. */
export const filledIn = (entry: string, filled: Filled): string =>
  withFields(entry, fieldsOf(entry), (field) => valueIn(field, filled) || undefined);

/** The secrets of an entry that are not references yet. */
export const secretsOf = (entry: string, filled: Filled): EntryField[] =>
  fieldsOf(entry).filter((field) => isSecret(field, filled) && valueIn(field, filled) !== '');

/** An entry with what the user typed, and dots for each of its secrets. */
export const withoutSecrets = (entry: string, filled: Filled): string =>
  withFields(entry, fieldsOf(entry), (field) =>
    isSecret(field, filled) && (valueIn(field, filled) || !field.open)
      ? dots
      : valueIn(field, filled) || undefined,
  );
