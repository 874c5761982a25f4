import { moveEdit, setEdit } from '@/lib/config-edits';
import { readJsonc, valueAt } from '@/lib/jsonc';
import { isRecord, withoutPrototypes } from '@/lib/own-property';
import { RequestError } from '@/lib/request';
import { secretName } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import type { Edit, Profiles } from '@/types/api';

const renameElsewhereTexts = withoutPrototypes({
  profiles: (name: string) =>
    `Profile ${name}, which is in another file, uses this account. Choose another account there first.`,
  clients: (name: string) =>
    `Client ${name}, which is in another file, uses this account. Choose another account there first.`,
} as const);

/** An error in one key of the configuration. */
export interface Fault {
  field: string;
  error: string;
}

type Values = Record<string, unknown>;
const valuesOf = (value: unknown): Values => (isRecord(value) ? value : {});

const isRemote = (entry: Values) => 'url' in entry || 'httpUrl' in entry;

/** The key of an entry with the credentials: an account has the same one. */
export const credentialsOf = (entry: Values) => (isRemote(entry) ? 'headers' : 'env');

/** The accounts in an entry. */
export function accountsIn(entry: unknown): Record<string, Values> {
  const accounts = valuesOf(valuesOf(entry).accounts);
  return Object.fromEntries(Object.entries(accounts).map(([name, one]) => [name, valuesOf(one)]));
}

/** Whether a server can have accounts: not if its URL is that of its own program, or if it replays. */
export const takesAccounts = (entry: Values) =>
  !(isRemote(entry) && 'command' in entry) && !('from' in entry);

/** Whether an account in an entry may sign in by OAuth. */
export function signsIn(entry: unknown, account: string): boolean {
  const server = valuesOf(entry);
  const own = accountsIn(entry)[account];
  if (!own || !isRemote(server)) return false;
  const hasKey = Object.keys(valuesOf(own.headers)).some((n) => /^authorization$/i.test(n));
  return !hasKey && valuesOf(own.oauth ?? server.oauth).enabled !== false;
}

/** The error in the name of a new account. */
export function faultOfName(name: string, taken: string[]): string | undefined {
  if (name === '') return undefined;
  const lower = name.toLowerCase();
  if (lower === 'default') return '“default” is the account with the server’s own credentials.';
  if (!/^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$/.test(name)) return texts.add.name;
  if (name.length > 32) return texts.add.nameLength;
  return taken.some((one) => one.toLowerCase() === lower)
    ? 'An account with this name already exists.'
    : undefined;
}

/** The names of the server's credentials that an account, which does not inherit them, lacks. */
export function missingNames(entry: Values, account: Values): string[] {
  const key = credentialsOf(entry);
  const same = (name: string) => (key === 'headers' ? name.toLowerCase() : name);
  const set = new Set(Object.keys(valuesOf(account[key])).map(same));
  return Object.keys(valuesOf(entry[key])).filter(
    (name) => !set.has(same(name)) && !/^authorization$/i.test(name),
  );
}

/** The error of an account of a server, or of one of its keys, without its position in the file. */
export function faultOf(
  faults: Fault[],
  server: string,
  account: string,
  key = '',
): string | undefined {
  const at = `.${server}.accounts.${account}${key && `.${key}`}`;
  const found = faults.find(({ field }) => {
    const [place = '', rest] = field.split(at);
    if (rest === undefined || !['mcpServers', 'servers', 'mcp.servers'].includes(place))
      return false;
    return rest === '' || (key !== '' && /^[.[]/.test(rest));
  });
  return found?.error.replace(/^.*?:\d+:\d+: /, '');
}

/** The profiles and clients that choose an account. */
export function usersOf(data: Profiles | undefined, server: string, account: string) {
  const use = data?.accounts.find((one) => one.server === server && one.account === account);
  return { profiles: use?.profiles ?? [], clients: use?.clients ?? [] };
}

/** A name for a secret of an account that no text refers to, so that no other one is overwritten. */
export function secretOfAccount(server: string, account: string, name: string, used: string[]) {
  const wanted = secretName(`${server} account ${account}`, name);
  for (let n = 1; ; n++) {
    const free = n === 1 ? wanted : `${wanted}_${n}`;
    if (!used.some((one) => one.includes(`\${secret:${free}}`))) return free;
  }
}

/**
 * The edits that rename an account in a configuration file, at its server and at the profiles and
 * clients that choose it. Fails if one of them is in another file: it would choose an account that does not exist.
 */
export function renameAccount(
  file: string,
  path: string[],
  server: string,
  [from, to]: [string, string],
  users: { profiles: string[]; clients: string[] },
): Edit[] | undefined {
  const root = valuesOf(readJsonc(file).value);
  const accounts = [...path, 'accounts'];
  if (valueAt(root, [...accounts, from]) === undefined) return undefined;
  const edits = [moveEdit(accounts, from, to)];
  for (const kind of ['profiles', 'clients'] as const) {
    const left = new Set(users[kind]);
    for (const [name, one] of Object.entries(valuesOf(root[kind])))
      for (const [id, chosen] of Object.entries(valuesOf(valuesOf(one).accounts)))
        if (id.toLowerCase() === server.toLowerCase() && chosen === from) {
          edits.push(setEdit([kind, name, 'accounts', id], to));
          left.delete(name);
        }
    const [elsewhere] = left;
    if (elsewhere !== undefined)
      throw new RequestError(renameElsewhereTexts[kind](elsewhere), 0, 'conflict');
  }
  return edits;
}
