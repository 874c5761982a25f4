/** What the page reads out of a tool's JSON Schema. Schemas are a stranger's: anything may be missing or odd. */

export interface Parameter {
  name: string;
  type: string;
  description: string;
  required: boolean;
}

type Json = Record<string, unknown>;

function object(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : undefined;
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

/** Arguments to begin with: every required parameter with its default or an empty value. */
export function skeleton(schema: string): string {
  const root = parse(schema);
  const properties = object(root?.properties) ?? {};
  const required = Array.isArray(root?.required) ? root.required : [];
  const start: Json = {};
  for (const name of required) {
    if (typeof name === 'string') start[name] = initial(properties[name]);
  }
  return JSON.stringify(start, null, 2);
}

function initial(value: unknown): unknown {
  const schema = object(value);
  if (!schema) return null;
  if ('default' in schema) return schema.default;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return '';
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? schema.minimum : 0;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return null;
  }
}

export interface Effects {
  readOnly: boolean;
  destructive: boolean;
  openWorld: boolean;
}

/** The hints that a server gives about its tool; only what it said outright. */
export function effects(annotations: string): Effects {
  const hints = annotations ? parse(annotations) : undefined;
  return {
    readOnly: hints?.readOnlyHint === true,
    destructive: hints?.destructiveHint === true && hints?.readOnlyHint !== true,
    openWorld: hints?.openWorldHint === true,
  };
}
