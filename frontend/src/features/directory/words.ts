import { texts } from '@/lib/texts';
import type { Field, Installable, InstallOption } from '@/types/api';

const t = texts.directory;

export const kinds = ['npx', 'uvx', 'docker', 'dnx', 'address'] as const;
export const onlys = ['curated', 'installed', 'installable'] as const;

/** Who publishes a server, by its name: the registry gives names to who owns the domain. */
export function publisher(name: string): string {
  const [domain = ''] = name.split('/');
  const parts = domain.split('.').reverse();
  const github = /^io\.github\.(.+)$/.exec(domain);
  return github ? t.onGitHub(github[1] ?? '') : parts.join('.');
}

/** What the user calls it. */
export const titleOf = (item: Installable) => item.title || item.label || item.name;

/** How a way runs, in two words. */
export function kindOf(way: InstallOption | undefined): string {
  return t.kinds[way?.launcher ?? 'address'] ?? way?.launcher ?? '';
}

/** What a server that runs this way will be able to do. */
export function reachOf(way: InstallOption): string[] {
  const fields = way.fields;
  const said: string[] = [];
  if (!way.launcher) said.push(t.reach.address(hostOf(way.title)), t.reach.addressGets);
  else if (way.launcher === 'docker') said.push(t.reach.docker);
  else said.push(t.reach.program);
  if (way.launcher) said.push(t.reach.fetches(way.launcher));
  if (way.launcher && !way.pinned) said.push(t.reach.newest);
  const secrets = fields.filter((field) => field.secret);
  if (secrets.length > 0) said.push(t.reach.secrets(secrets.map((field) => field.label)));
  return said;
}

function hostOf(address: string): string {
  return /^https?:\/\/([^/?#]+)/.exec(address)?.[1] ?? address;
}

/** What a form begins with. */
export function firstValues(fields: Field[]): Record<string, string> {
  return Object.fromEntries(
    fields.filter((field) => field.default && !field.secret).map((f) => [f.key, f.default ?? '']),
  );
}

/** Fields that have to be filled in and are not. */
export function missing(fields: Field[], values: Record<string, string>): Field[] {
  return fields.filter(
    (field) => field.required && !(values[field.key] ?? '').trim() && !field.default,
  );
}

/** What was filled in, without what was left alone. */
export function given(fields: Field[], values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    fields
      .map((field): [string, string] => [field.key, values[field.key] ?? ''])
      .filter(([, value]) => value.trim() !== ''),
  );
}
