import { describe, expect, it } from 'vitest';
import {
  chooseAccount,
  type Entry,
  matches,
  offers,
  readEntry,
  switchTools,
  textOf,
  withAllServersListed,
} from './profile-entry';

const known = new Map([
  ['files', ['read', 'read_all', 'write', 'list']],
  ['web', ['get']],
]);
const shown = (entry: Entry) =>
  [...known].flatMap(([s, all]) => all.filter((t) => offers(entry, s, t)).map((t) => `${s}.${t}`));

describe('a profile', () => {
  it('matches patterns like the daemon', () => {
    for (const [pattern, name, fits] of [
      ['*', '', true],
      ['read*', 'read_all', true],
      ['r??d', 'read', true],
      ['*a*l', 'read_all', true],
      ['read', 'Read', false],
      ['read_*_x', 'read_all', false],
    ] as const)
      expect(matches(pattern, name), `${pattern} ${name}`).toBe(fits);
  });

  it('removes one tool from all, and lists the servers for that', () => {
    const entry = switchTools({}, known, 'files', ['write'], false);
    expect(entry).toEqual({ servers: { files: { excludeTools: ['write'] }, web: {} } });
    expect(switchTools(entry, known, 'files', ['write'], true)).toEqual(
      withAllServersListed({}, known),
    );
  });

  it('lists the included tools if it starts empty', () => {
    const entry = switchTools({ servers: {} }, known, 'files', ['read'], true);
    expect(entry).toEqual({ servers: { files: { includeTools: ['read'] } } });
    expect(switchTools(entry, known, 'files', ['read'], false)).toEqual({ servers: {} });
  });

  it('takes an empty list of included tools as none', () => {
    expect(offers({ servers: { files: { includeTools: [] } } }, 'files', 'read')).toBe(false);
  });

  it('keeps the patterns that are still correct', () => {
    const begin: Entry = { servers: { files: { includeTools: ['read*'], prompts: false } } };
    expect(switchTools(begin, known, 'files', ['list'], true).servers?.files).toEqual({
      includeTools: ['read*', 'list'],
      prompts: false,
    });
    expect(switchTools(begin, known, 'files', ['read'], false).servers?.files).toEqual({
      includeTools: ['read_all'],
      prompts: false,
    });
  });

  it('offers exactly the selected tools, whatever the initial patterns', () => {
    const patterns = ['read*', '*', 'w?ite', 'list', 'r*l'];
    const begins: (Entry['servers'] | undefined)[] = [undefined, {}, { files: {} }];
    for (const a of patterns)
      for (const b of patterns)
        begins.push(
          { files: { includeTools: [a] } },
          { files: { excludeTools: [b] } },
          { files: { includeTools: [a], excludeTools: [b] } },
        );
    for (const servers of begins)
      for (const tool of known.get('files') ?? [])
        for (const on of [true, false]) {
          const before: Entry = servers ? { servers } : {};
          const want = new Set(shown(before));
          if (on) want.add(`files.${tool}`);
          else want.delete(`files.${tool}`);
          const after = switchTools(before, known, 'files', [tool], on);
          expect(new Set(shown(after)), JSON.stringify([servers, tool, on])).toEqual(want);
        }
  });

  it('chooses one account for each server', () => {
    const one = chooseAccount({ folders: ['/a'] }, 'hub', 'work');
    expect(one).toEqual({ folders: ['/a'], accounts: { hub: 'work' } });
    const two = chooseAccount(chooseAccount(one, 'db', 'work'), 'hub', 'bot');
    expect(two.accounts).toEqual({ hub: 'bot', db: 'work' });
    expect(textOf(chooseAccount(one, 'hub', ''))).toBe(textOf({ folders: ['/a'] }));
  });

  it('detects whether two entries are equivalent', () => {
    expect(textOf({ toolMode: 'all', folders: [] })).toBe(textOf({}));
    expect(textOf({ servers: {} })).not.toBe(textOf({}));
    expect(readEntry('{"servers":{}}')).toEqual({ servers: {} });
    expect(readEntry('nonsense')).toEqual({});
    expect(textOf({ accounts: { b: 'x', a: 'y' } })).toBe(textOf({ accounts: { a: 'y', b: 'x' } }));
    expect(textOf({ accounts: { a: 'x' } })).not.toBe(textOf({ accounts: { a: 'y' } }));
  });
});
