import { isRecord } from '@/lib/own-property';

/** Reads a tool's JSON Schema. Schemas are untrusted: anything can be missing or invalid. */

export interface Parameter {
  name: string;
  type: string;
  description: string;
  required: boolean;
}

type Json = Record<string, unknown>;

function object(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

function parse(schema: string): Json | undefined {
  try {
    return object(JSON.parse(schema));
  } catch {
    return undefined;
  }
}

export function parameters(schema: string): Parameter[] {
  const root = parse(schema);
  const required = Array.isArray(root?.required) ? root.required : [];
  return Object.entries(object(root?.properties) ?? {}).map(([name, value]) => ({
    name,
    type: typeOf(value),
    description: text(object(value)?.description),
    required: required.includes(name),
  }));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function typeOf(value: unknown, depth = 0): string {
  const schema = object(value);
  if (!schema || depth > 3) return 'any';
  if (Array.isArray(schema.enum)) {
    const words = schema.enum.slice(0, 6).map((word) => JSON.stringify(word));
    return words.join(' | ') + (schema.enum.length > 6 ? ' | …' : '');
  }
  if ('const' in schema) return JSON.stringify(schema.const);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) {
    return [...new Set(options.slice(0, 6).map((o) => typeOf(o, depth + 1)))].join(' | ');
  }
  if (Array.isArray(schema.type))
    return schema.type.filter((t) => typeof t === 'string').join(' | ');
  if (schema.type === 'array') return `${typeOf(schema.items, depth + 1)}[]`;
  return text(schema.type) || 'any';
}

export interface Effects {
  readOnly: boolean;
  destructive: boolean;
  openWorld: boolean;
}

/** The hints of a server about its tool; defaults of missing hints are not assumed. */
export function effects(annotations: string): Effects {
  const hints = annotations ? parse(annotations) : undefined;
  return {
    readOnly: hints?.readOnlyHint === true,
    destructive: hints?.destructiveHint === true && hints?.readOnlyHint !== true,
    openWorld: hints?.openWorldHint === true,
  };
}
