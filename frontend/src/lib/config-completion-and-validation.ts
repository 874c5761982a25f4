import { getLocation } from 'jsonc-parser';
import { type JsonPath, positionOf, readJsonc } from './jsonc';
import { isRecord } from './own-property';

/** The part of JSON Schema that the configuration's schema uses. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  title?: string;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

/** The position of the caret in the document, derived from the text before it. */
export interface Caret {
  /** The path of the object or array around it, or of the member whose value is typed. */
  path: JsonPath;
  kind: 'key' | 'value';
  /** The part that is already typed, without quotation marks. */
  typed: string;
  /** The range that a completion replaces. */
  from: number;
  to: number;
}

/** Parses the text up to the caret; undefined if there is nothing to complete. */
export function caretAt(text: string, at: number): Caret | undefined {
  const { path, isAtPropertyKey, previousNode } = getLocation(text, at);
  if (path.length === 0) return undefined;
  // The token in or before the caret.
  const word = /[^\s{}[\],:"]*$/.exec(text.slice(0, at))?.[0] ?? '';
  const start = previousNode?.offset ?? at;
  const inside =
    text.charAt(start) === '"' && start < at && at <= start + (previousNode?.length ?? 0);
  const from = inside ? start : at - word.length;
  // A string is replaced up to its end if that is on this line.
  const rest = /^[^"\n]*"?/.exec(text.slice(at))?.[0] ?? '';
  const to = inside && rest.endsWith('"') ? at + rest.length : at;
  return {
    path: isAtPropertyKey ? path.slice(0, -1) : path,
    kind: isAtPropertyKey ? 'key' : 'value',
    typed: text.slice(from, at).replace(/^"/, ''),
    from,
    to,
  };
}

/** The schema of the value at path, with references resolved. */
export function schemaAt(root: Schema, path: JsonPath): Schema | undefined {
  let at = followed(root, root);
  for (const step of path) {
    at = branch(root, at, typeof step === 'number' ? [] : {});
    if (!at) return undefined;
    const member =
      typeof step === 'number'
        ? at.items
        : (memberOf(at, step) ??
          (typeof at.additionalProperties === 'object' ? at.additionalProperties : undefined));
    at = followed(root, member);
  }
  return branch(root, at, {});
}

/** The schema of a named or matching member. */
function memberOf(schema: Schema, name: string): Schema | undefined {
  if (schema.properties && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  const patterns = Object.entries(schema.patternProperties ?? {});
  return patterns.find(([pattern]) => new RegExp(pattern).test(name))?.[1];
}

/** The alternative of oneOf or anyOf that matches the type of a value. */
function branch(root: Schema, schema: Schema | undefined, value: unknown): Schema | undefined {
  const several = schema?.oneOf ?? schema?.anyOf;
  if (!several) return schema;
  return several
    .map((one) => followed(root, one))
    .find((one) => one && types(one).some((type) => isOf(value, type)));
}

/** The target of a reference such as #/$defs/server/properties/oauth. */
function target(root: Schema, reference: string): Schema | undefined {
  let at: unknown = root;
  for (const step of reference.split('/').slice(1)) at = (at as Record<string, unknown>)?.[step];
  return at as Schema | undefined;
}

function followed(root: Schema, schema: Schema | undefined): Schema | undefined {
  let at = schema;
  for (let i = 0; i < 10 && (at?.$ref || at?.allOf); i++)
    at = at.$ref ? target(root, at.$ref) : at.allOf?.[0];
  return at;
}

export interface ConfigCompletion {
  text: string;
  note: string;
  insert: string;
  /** The range that it replaces. */
  from: number;
  to: number;
}

/**
 * The completions at the caret; those that start with the typed text come first. The text is the
 * value at the path base of the configuration.
 */
export function completionsAt(
  root: Schema,
  text: string,
  at: number,
  base: JsonPath = [],
): ConfigCompletion[] {
  const caret = caretAt(text, at);
  const schema = caret && schemaAt(root, [...base, ...caret.path]);
  if (!caret || !schema) return [];
  const { from, to } = caret;
  const word = caret.typed.toLowerCase();
  const fits = ({ text }: ConfigCompletion) => text.toLowerCase().includes(word);
  const order = (a: ConfigCompletion, b: ConfigCompletion) =>
    Number(b.text.toLowerCase().startsWith(word)) - Number(a.text.toLowerCase().startsWith(word));
  if (caret.kind === 'key') {
    const colon = /^\s*:/.test(text.slice(caret.to)) ? '' : ': ';
    return Object.entries(schema.properties ?? {})
      .map(([name, member]) => ({
        text: name,
        note: followed(root, member)?.description ?? kindOf(root, member),
        insert: `${JSON.stringify(name)}${colon}`,
        from,
        to,
      }))
      .filter(fits)
      .sort(order);
  }
  const values = schema.enum ?? (types(schema).includes('boolean') ? [true, false] : []);
  return values
    .map((value) => ({
      text: String(value),
      note: value === schema.default ? 'default' : '',
      insert: JSON.stringify(value),
      from,
      to,
    }))
    .filter(fits)
    .sort(order);
}

function kindOf(root: Schema, schema: Schema): string {
  return types(followed(root, schema) ?? {}).join(', ');
}

const types = (schema: Schema): string[] =>
  schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];

const mostViolations = 5;

export interface SchemaViolation {
  /** Both start at 1. */
  line: number;
  column: number;
  path: string;
  kind: 'unknown' | 'type' | 'choice' | 'range';
  wanted: string;
}

/**
 * The first few violations of the schema by the value at the path base of the configuration. The
 * validation by the daemon is authoritative.
 */
export function schemaViolations(
  root: Schema,
  text: string,
  base: JsonPath = [],
): SchemaViolation[] {
  const { value, fault } = readJsonc(text);
  if (fault) return []; // reported elsewhere with its line
  const found: SchemaViolation[] = [];
  const add = (path: JsonPath, kind: SchemaViolation['kind'], wanted: string) => {
    found.push({ ...positionOf(text, path), path: path.join('.'), kind, wanted });
  };
  const walk = (value: unknown, schema: Schema | undefined, path: JsonPath) => {
    const at = branch(root, followed(root, schema), value);
    if (!at || found.length >= mostViolations) return;
    const allowed = types(at);
    if (allowed.length > 0 && !allowed.some((type) => isOf(value, type))) {
      add(path, 'type', allowed.join(', '));
      return;
    }
    if (at.enum && !at.enum.includes(value)) add(path, 'choice', at.enum.join(', '));
    if (typeof value === 'number') {
      if (at.minimum !== undefined && value < at.minimum) add(path, 'range', `≥ ${at.minimum}`);
      if (at.maximum !== undefined && value > at.maximum) add(path, 'range', `≤ ${at.maximum}`);
    }
    if (Array.isArray(value))
      value.forEach((one, i) => {
        walk(one, at.items, [...path, i]);
      });
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        const known = memberOf(at, name);
        const other = at.additionalProperties;
        if (known) walk(member, known, [...path, name]);
        else if (other === false) add([...path, name], 'unknown', nearest(name, at));
        else if (typeof other === 'object') walk(member, other, [...path, name]);
      }
    }
  };
  walk(value, schemaAt(root, base), []);
  return found.slice(0, mostViolations);
}

function isOf(value: unknown, type: string): boolean {
  switch (type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

/** The key of the schema that was probably intended, or ''. */
function nearest(name: string, schema: Schema): string {
  const word = name.toLowerCase();
  const near = Object.keys(schema.properties ?? {})
    .map((key) => ({ key, far: distance(word, key.toLowerCase()) }))
    .sort((a, b) => a.far - b.far)[0];
  return near && near.far <= Math.max(1, Math.floor(near.key.length / 3)) ? near.key : '';
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length && i < 60; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[b.length] ?? 0;
}
