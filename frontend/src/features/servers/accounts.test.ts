import { describe, expect, it } from 'vitest';
import { moveEdit, setEdit } from '@/lib/config-edits';
import type { Profiles } from '@/types/api';
import {
  accountsIn,
  faultOf,
  faultOfName,
  missingNames,
  renameAccount,
  secretOfAccount,
  signsIn,
  takesAccounts,
  usersOf,
} from './accounts';

const file = `{
  "mcpServers": {
    "Git Hub": {
      "url": "https://example.com/mcp",
      // who acts
      "accounts": { "work": {}, /* ci */ "bot": { "headers": { "authorization": "x" } } },
    },
    "other": { "url": "https://example.org/mcp", "accounts": { "work": {} } }
  },
  "profiles": {
    "office": { "accounts": { "GIT-hub": "work", "other": "work" } },
    "free": { "accounts": { "git-hub": "bot" } }
  },
  "clients": { "ci": { "accounts": { "git-hub": "work" } } } // last
}
`;
const path = ['mcpServers', 'Git Hub'];

describe('the accounts of a server', () => {
  it('are renamed with the profiles and clients that choose them, and nothing else changes', () => {
    const users = { profiles: ['office'], clients: ['ci'] };
    expect(renameAccount(file, path, 'git-hub', ['work', 'day'], users)).toEqual([
      moveEdit([...path, 'accounts'], 'work', 'day'),
      setEdit(['profiles', 'office', 'accounts', 'GIT-hub'], 'day'),
      setEdit(['clients', 'ci', 'accounts', 'git-hub'], 'day'),
    ]);
    expect(renameAccount(file, path, 'git-hub', ['gone', 'day'], users)).toBeUndefined();
  });

  it('are not renamed if another file chooses them', () => {
    const rename = (profiles: string[], clients: string[]) => () =>
      renameAccount(file, path, 'git-hub', ['work', 'day'], { profiles, clients });
    expect(rename(['office', 'far'], ['ci'])).toThrow('Profile far, which is in another file');
    expect(rename(['office'], ['ci', 'far'])).toThrow('Client far, which is in another file');
  });

  it('have valid names that differ in more than case', () => {
    for (const [name, fault] of [
      ['', undefined],
      ['home-2', undefined],
      ['Default', /own credentials/],
      ['a@b', /only the letters a to z/],
      ['a'.repeat(33), /at most 32/],
      ['Büro 1', /without spaces/],
      ['-a', /only the letters a to z/],
      ['WORK', /already exists/],
    ] as const)
      expect(faultOfName(name, ['work']) ?? '', name).toMatch(fault ?? /^$/);
  });

  it('do not inherit credentials', () => {
    const env = { command: 'x', env: { KEY: 'a', REGION: 'b' } };
    expect(missingNames(env, { env: { key: '', REGION: '' } })).toEqual(['KEY']);
    const headers = { url: 'u', headers: { Authorization: 'a', 'X-Team': 'b' } };
    expect(missingNames(headers, { headers: { 'x-team': '' } })).toEqual([]);
    expect(missingNames(headers, {})).toEqual(['X-Team']);
  });

  it('sign in unless they have a key or sign-in is disabled', () => {
    const entry = { url: 'u', accounts: { work: {}, bot: { headers: { authorization: '' } } } };
    expect([signsIn(entry, 'work'), signsIn(entry, 'bot'), signsIn(entry, 'gone')]).toEqual([
      true,
      false,
      false,
    ]);
    const off = { url: 'u', oauth: { enabled: false }, accounts: { a: {}, b: { oauth: {} } } };
    expect([signsIn(off, 'a'), signsIn(off, 'b')]).toEqual([false, true]);
    expect(signsIn({ command: 'c', accounts: { a: {} } }, 'a')).toBe(false);
  });

  it('are offered where the daemon accepts them', () => {
    expect(takesAccounts({ command: 'c' })).toBe(true);
    expect(takesAccounts({ url: 'u' })).toBe(true);
    expect(takesAccounts({ url: 'u', command: 'c' })).toBe(false);
    expect(takesAccounts({ from: {} })).toBe(false);
  });

  it('are read from any value', () => {
    expect(Object.keys(accountsIn({ accounts: { a: 1, b: {} } }))).toEqual(['a', 'b']);
    for (const value of [undefined, [], null, { accounts: [] }])
      expect(accountsIn(value)).toEqual({});
  });

  it('show their own errors', () => {
    const faults = [
      { field: 'mcpServers.other.accounts.work.folders', error: 'of another server' },
      { field: 'mcpServers.a.b.accounts.work.folders[1]', error: "/c.jsonc:3:4: 'folders' must" },
      { field: 'mcpServers.a.b.accounts.work.headers.X y', error: 'bad header' },
      { field: 'mcpServers.a.b.accounts.wor k', error: 'not a valid account name' },
    ];
    expect(faultOf(faults, 'a.b', 'work', 'folders')).toBe("'folders' must");
    expect(faultOf(faults, 'a.b', 'work', 'headers')).toBe('bad header');
    expect(faultOf(faults, 'a.b', 'wor', 'folders')).toBeUndefined();
    expect(faultOf(faults, 'a.b', 'work')).toBeUndefined();
    expect(faultOf(faults, 'a.b', 'wor k')).toBe('not a valid account name');
  });

  it('know who chooses them', () => {
    const use = { server: 'hub', account: 'work', profiles: ['office'], clients: ['ci'] };
    const data = { accounts: [use] } as unknown as Profiles;
    expect(usersOf(data, 'hub', 'work')).toEqual({ profiles: ['office'], clients: ['ci'] });
    expect(usersOf(data, 'hub', 'bot')).toEqual({ profiles: [], clients: [] });
    expect(usersOf(undefined, 'hub', 'work')).toEqual({ profiles: [], clients: [] });
  });

  it('store secrets that no other part of the configuration uses', () => {
    expect(secretOfAccount('hub', 'my-work', 'KEY', [''])).toBe('HUB_ACCOUNT_MY_WORK_KEY');
    const used = ['"${secret:HUB_ACCOUNT_MY_WORK_KEY}"', 'x ${secret:HUB_ACCOUNT_MY_WORK_KEY_2}'];
    expect(secretOfAccount('hub', 'my_work', 'KEY', used)).toBe('HUB_ACCOUNT_MY_WORK_KEY_3');
  });
});
