import { texts } from '@/lib/texts';
import type { Installable, InstallOption } from '@/types/api';

const t = texts.directory;

export const kinds = ['npx', 'uvx', 'docker', 'dnx', 'address'] as const;
export const listFilters = ['curated', 'installed', 'installable'] as const;

/** The publisher of a server, from its name: the registry assigns names to the owners of domains. */
export function publisher(name: string): string {
  const [domain = ''] = name.split('/');
  const parts = domain.split('.').reverse();
  const github = /^io\.github\.(.+)$/.exec(domain);
  return github ? t.onGitHub(github[1] ?? '') : parts.join('.');
}

/** The name that the user sees. */
export const titleOf = (item: Installable) => item.title || item.label || item.name;

/** How an install option runs, as a short label. */
export function kindOf(option: InstallOption | undefined): string {
  return t.kinds[option?.launcher ?? 'address'] ?? option?.launcher ?? '';
}

/** What a server that is installed this way can access. */
export function accessOf(option: InstallOption): string[] {
  const fields = option.fields;
  const lines: string[] = [];
  if (!option.launcher) lines.push(t.reach.address(hostOf(option.title)), t.reach.addressGets);
  else if (option.launcher === 'docker') lines.push(t.reach.docker);
  else lines.push(t.reach.program);
  if (option.launcher) lines.push(t.reach.fetches(option.launcher));
  if (option.launcher && !option.pinned) lines.push(t.reach.newest);
  const secrets = fields.filter((field) => field.secret);
  if (secrets.length > 0) lines.push(t.reach.secrets(secrets.map((field) => field.label)));
  return lines;
}

function hostOf(address: string): string {
  return /^https?:\/\/([^/?#]+)/.exec(address)?.[1] ?? address;
}
