import { type ScalarTag, stringify } from 'yaml';
import { jsonElements, jsonMembers, jsonString } from './json-text';

/** A number or a deep value that is written as raw text: a JavaScript number would lose digits. */
class Raw {
  constructor(readonly text: string) {}
}

const rawTag: ScalarTag = {
  tag: 'tag:drawbridge,raw',
  default: true,
  identify: (value) => value instanceof Raw,
  resolve: (text) => new Raw(text),
  stringify: ({ value }) => (value instanceof Raw ? value.text : ''),
};

/** Deeper values stay JSON, which is valid YAML. */
const deepest = 24;

/** Formats JSON text as YAML with the same meaning. Numbers keep the digits that were sent. */
export function formatYaml(text: string): string {
  const value = toYaml(text.trim(), 0);
  if (value instanceof Raw) return value.text;
  return stringify(value, {
    compat: 'yaml-1.1', // quotes what older parsers read as a boolean or a date
    customTags: (tags) => [...tags, rawTag],
    lineWidth: 0,
    aliasDuplicateObjects: false,
  }).replace(/\n$/, '');
}

function toYaml(raw: string, depth: number): unknown {
  const first = raw.charAt(0);
  const members = first === '{' && depth < deepest ? jsonMembers(raw) : undefined;
  if (members) return new Map([...members].map(([name, one]) => [name, toYaml(one, depth + 1)]));
  const elements = first === '[' && depth < deepest ? jsonElements(raw) : undefined;
  if (elements) return elements.map((one) => toYaml(one, depth + 1));
  if (raw === 'true' || raw === 'false') return raw === 'true';
  if (raw === 'null') return null;
  return jsonString(raw) ?? new Raw(raw.replace(/\s*\n\s*/g, ' '));
}
