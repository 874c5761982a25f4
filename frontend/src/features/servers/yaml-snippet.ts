import { parse } from 'yaml';
import { isRecord } from '@/lib/own-property';

/** Members whose values are texts, even if they look like numbers. */
const textual = new Set(['args', 'env', 'environment', 'headers']);

/** Whether text begins like a YAML mapping, and not like a command line. */
export function looksLikeYaml(text: string): boolean {
  const first = text.split('\n').find((line) => !/^\s*(#.*|---)?\s*$/.test(line)) ?? '';
  return /^\s*(?:- +)?["']?[\w.-]+["']?:(?:\s|$)/.test(first);
}

/** A YAML mapping as JSON text; undefined if text is not one. */
export function yamlToJson(text: string): string | undefined {
  if (!looksLikeYaml(text)) return undefined;
  try {
    const value: unknown = parse(text, { logLevel: 'silent' });
    const plain: unknown = parse(text, { logLevel: 'silent', schema: 'failsafe' });
    return isRecord(value) ? JSON.stringify(withTexts(value, plain)) : undefined;
  } catch {
    return undefined;
  }
}

/** The value with the members that are texts as they are written. */
function withTexts(value: unknown, plain: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(plain))
    return value.map((one, i) => withTexts(one, plain[i]));
  if (!isRecord(value) || !isRecord(plain)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      textual.has(name) && one !== null ? plain[name] : withTexts(one, plain[name]),
    ]),
  );
}
