import { jsonElements, jsonMembers, jsonString } from '@/lib/json-text';

/**
 * What a form needs from a JSON Schema. Schemas are untrusted: missing, unusual or too deep parts
 * become a field for JSON. They are read as text, so that the numbers of defaults and choices keep
 * their digits.
 */
export interface Field {
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'object' | 'json';
  title: string;
  description: string;
  /** For a text: its format, if browsers have an input for it. */
  format: Format | undefined;
  /** For a number: whether it must be an integer. */
  whole: boolean;
  /** The choices, as JSON text with the label to show. */
  choices: { raw: string; text: string }[];
  /** For a list: its elements. */
  item: Field | undefined;
  /** For an object: its members in the order of the schema. */
  members: Member[];
  /** The default as JSON text, if the schema has one. */
  initial: string | undefined;
}

export type Format = 'email' | 'url' | 'date';

const formats = new Map<string | undefined, Format>([
  ['email', 'email'],
  ['uri', 'url'],
  ['date', 'date'],
]);

export interface Member {
  name: string;
  required: boolean;
  field: Field;
}

/** Whether a member must have a value and has none. */
export const lacksValue = ({ field, required }: Member, raw: string | undefined): boolean =>
  required &&
  (raw === undefined
    ? field.kind !== 'list' && field.kind !== 'object'
    : field.kind === 'text' && raw === '""');

/** Whether every required member of an object has a value, also in the objects within it. */
export function isComplete(field: Field, text: string): boolean {
  const values = jsonMembers(text);
  return field.members.every((member) => {
    const raw = values?.get(member.name);
    return !lacksValue(member, raw) && (raw === undefined || isComplete(member.field, raw));
  });
}

const maxDepth = 6;
const maxMembers = 100;
const maxChoices = 500;

/** Reads the schema of an object or of one value. Never throws. */
export function readSchema(schema: string): Field {
  return read(schema, schema, 0);
}

type Members = Map<string, string>;

function read(schema: string, root: string, depth: number): Field {
  const own = resolve(jsonMembers(schema), root);
  const field: Field = {
    kind: 'json',
    title: (jsonString(own?.get('title')) ?? '').slice(0, 200),
    description: (jsonString(own?.get('description')) ?? '').slice(0, 2000),
    format: undefined,
    whole: false,
    choices: [],
    item: undefined,
    members: [],
    initial: own?.get('default') ?? own?.get('const'),
  };
  if (!own || depth > maxDepth) return field;
  const members = withoutNull(own, root);
  const choices = choicesOf(own) ?? choicesOf(members);
  if (choices) return { ...field, kind: 'choice', choices };
  const item = members.get('items');
  switch (typeName(members)) {
    case 'string':
      return { ...field, kind: 'text', format: formats.get(jsonString(members.get('format'))) };
    case 'integer':
      return { ...field, kind: 'number', whole: true };
    case 'number':
      return { ...field, kind: 'number' };
    case 'boolean':
      return { ...field, kind: 'boolean' };
    case 'array':
      return item && jsonMembers(item)
        ? { ...field, kind: 'list', item: read(item, root, depth + 1) }
        : field;
    case 'object': {
      const list = membersOf(members, root, depth);
      return list.length > 0 ? { ...field, kind: 'object', members: list } : field;
    }
    default:
      return field;
  }
}

function membersOf(object: Members, root: string, depth: number): Member[] {
  const required = new Set(
    (jsonElements(object.get('required') ?? '') ?? []).map((name) => jsonString(name)),
  );
  return [...(jsonMembers(object.get('properties') ?? '') ?? [])]
    .slice(0, maxMembers)
    .map(([name, schema]) => ({
      name,
      required: required.has(name),
      field: read(schema, root, depth + 1),
    }));
}

/** Follows references within the schema; other references are left unchanged. */
function resolve(members: Members | undefined, root: string): Members | undefined {
  let at = members;
  for (let hop = 0; hop < 5; hop++) {
    const reference = jsonString(at?.get('$ref'));
    if (!reference?.startsWith('#/')) return at;
    let text: string | undefined = root;
    for (const step of reference.slice(2).split('/')) {
      text = jsonMembers(text ?? '')?.get(step.replaceAll('~1', '/').replaceAll('~0', '~'));
    }
    const target = jsonMembers(text ?? '');
    if (!target) return at;
    // Keywords beside a reference describe this use of it.
    const beside: Members = new Map(at);
    beside.delete('$ref');
    at = new Map([...target, ...beside]);
  }
  return at;
}

/** "X or null" is an optional X. */
function withoutNull(members: Members, root: string): Members {
  for (const name of ['anyOf', 'oneOf']) {
    const options = (jsonElements(members.get(name) ?? '') ?? [])
      .map((option) => resolve(jsonMembers(option), root))
      .filter((option) => option !== undefined && typeName(option) !== 'null');
    const [only] = options;
    if (only && options.length === 1) return only;
  }
  return members;
}

function typeName(members: Members): string | undefined {
  const type = members.get('type') ?? '';
  const one = jsonString(type);
  if (one) return one;
  const several = (jsonElements(type) ?? []).map((t) => jsonString(t)).filter((t) => t !== 'null');
  if (several.length === 1) return several[0];
  return members.has('properties') ? 'object' : undefined;
}

/** An enumeration, or its other form: oneOf with a const and a title each. */
function choicesOf(members: Members): Field['choices'] | undefined {
  const words = jsonElements(members.get('enum') ?? '');
  if (words && words.length > 0 && words.length <= maxChoices) {
    const names = jsonElements(members.get('enumNames') ?? '') ?? [];
    return words.map((raw, i) => ({ raw, text: jsonString(names[i]) ?? jsonString(raw) ?? raw }));
  }
  const options = jsonElements(members.get('oneOf') ?? members.get('anyOf') ?? '')?.map((option) =>
    jsonMembers(option),
  );
  if (!options?.length || options.length > maxChoices || !options.every((o) => o?.has('const')))
    return undefined;
  return options.map((option) => {
    const raw = option?.get('const') ?? 'null';
    return { raw, text: jsonString(option?.get('title')) ?? jsonString(raw) ?? raw };
  });
}

/** The initial JSON text: the default of the schema, or an empty value of its type. */
export function initialText(field: Field): string {
  if (field.initial !== undefined) return field.initial;
  switch (field.kind) {
    case 'text':
      return '""';
    case 'number':
      return '0';
    case 'boolean':
      return 'false';
    case 'choice':
      return field.choices[0]?.raw ?? 'null';
    case 'list':
      return '[]';
    case 'object': {
      const members = field.members
        .filter((member) => member.required || member.field.initial !== undefined)
        .map((member) => `${JSON.stringify(member.name)}:${initialText(member.field)}`);
      return `{${members.join(',')}}`;
    }
    case 'json':
      return 'null';
  }
}
