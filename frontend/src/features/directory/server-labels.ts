import { ownValue } from '@/lib/own-property';
import type { Installable, InstallOption } from '@/types/api';

export const kindNames = {
  npx: 'Node package',
  uvx: 'Python package',
  docker: 'Container',
  dnx: '.NET package',
  address: 'Remote URL',
};
export const kinds = Object.keys(kindNames) as (keyof typeof kindNames)[];
export const listFilters = ['curated', 'installed', 'installable'] as const;

/** The publisher of a server, from its name: the registry assigns names to the owners of domains. */
export function publisher(name: string): string {
  const [domain = ''] = name.split('/');
  const parts = domain.split('.').reverse();
  const github = /^io\.github\.(.+)$/.exec(domain);
  return github ? `${github[1] ?? ''} on GitHub` : parts.join('.');
}

/** The name that the user sees. */
export const titleOf = (item: Installable) => item.title || item.label || item.name;

/** How an install option runs, as a short label. */
export function kindOf(option: InstallOption | undefined): string {
  return ownValue<string>(kindNames, option?.launcher ?? 'address') ?? option?.launcher ?? '';
}

/** What a server that is installed this way can access. */
export function accessOf(option: InstallOption): string[] {
  const fields = option.fields;
  const lines: string[] = [];
  if (!option.launcher)
    lines.push(
      `Runs remotely at ${hostOf(option.title)} and has no access to this computer.`,
      'Arguments that your clients send to its tools leave this computer.',
    );
  else if (option.launcher === 'docker')
    lines.push('Runs in a container: it can access only the folders you mount.');
  else lines.push('Runs with your permissions: it can read and change all your files.');
  if (option.launcher)
    lines.push(
      `Requires ${option.launcher}, which downloads the package when the server first starts.`,
    );
  if (option.launcher && !option.pinned)
    lines.push('The version is not pinned: each start may use a newer one.');
  const secrets = fields.filter((field) => field.secret);
  if (secrets.length > 0)
    lines.push(
      `Receives the values you enter for ${secrets.map((field) => field.label).join(', ')}.`,
    );
  return lines;
}

function hostOf(address: string): string {
  return /^https?:\/\/([^/?#]+)/.exec(address)?.[1] ?? address;
}
