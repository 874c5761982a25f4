import { describe, expect, it } from 'vitest';
import {
  age,
  bytes,
  clock,
  compareIds,
  duration,
  escapeControlCharacters,
  logText,
  moment,
  sentence,
  share,
  withoutPosition,
} from './format';

const now = Date.parse('2026-11-20T12:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

describe('age', () => {
  it('uses larger units for longer times', () => {
    const ages = [0, 59, 60, 3599, 3600, 7260, 86_399, 86_400, 93_600].map((s) => age(ago(s), now));
    expect(ages).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '59 min',
      '1 h',
      '2 h 1 min',
      '23 h 59 min',
      '1 d',
      '1 d 2 h',
    ]);
  });

  it('is empty for an unset time and zero for a time in the future', () => {
    expect(age('0001-01-01T00:00:00Z', now)).toBe('');
    expect(age(undefined, now)).toBe('');
    expect(age('junk', now)).toBe('');
    expect(age(ago(-30), now)).toBe('0 s');
  });
});

describe('duration', () => {
  it('selects the unit', () => {
    const shown = [
      0, 820, 820_000, 2_740_000, 12_400_000, 294_000_000, 1_530_000_000, 60e9, 124e9, 3.7e12,
    ].map(duration);
    expect(shown).toEqual([
      '0 ns',
      '820 ns',
      '820 µs',
      '2.74 ms',
      '12.4 ms',
      '294 ms',
      '1.53 s',
      '1 min',
      '2 min 4 s',
      '1 h 1 min',
    ]);
    expect(duration(Number.NaN)).toBe('–');
  });

  it('changes the unit when rounding reaches the next one', () => {
    const shown = [999.6, 999_600, 999_600_000, 99_960_000, 59.94e9, 59.96e9].map(duration);
    expect(shown).toEqual(['1 µs', '1.00 ms', '1.00 s', '100 ms', '59.9 s', '1 min']);
  });
});

it('share has no space before the percent sign', () => {
  expect([share(0, 7), share(1, 3000), share(3, 83), share(1, 2)]).toEqual([
    '0%',
    '< 0.1%',
    '3.6%',
    '50%',
  ]);
});

describe('bytes', () => {
  it('uses decimal units', () => {
    expect([0, 999, 1000, 9999, 38_200_000, 999_999, 2e9].map(bytes)).toEqual([
      '0 B',
      '999 B',
      '1.0 kB',
      '10 kB',
      '38 MB',
      '1.0 MB',
      '2.0 GB',
    ]);
    expect(bytes(undefined)).toBe('–');
  });
});

it('compareIds compares ids that exceed the precision of numbers', () => {
  expect(['9', '10', '1763640000000001', '1763640000000000'].sort(compareIds)).toEqual([
    '9',
    '10',
    '1763640000000000',
    '1763640000000001',
  ]);
});

it('clock adds the date on another day', () => {
  expect(clock(new Date(now).toISOString(), now)).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(clock(ago(3 * 86_400), now)).toMatch(/^Nov 17 \d\d:\d\d$/);
});

it('moment handles the zero time of Go', () => {
  expect(moment('0001-01-01T00:00:00Z')).toBeUndefined();
});

describe('escapeControlCharacters', () => {
  it('makes terminal escapes and reordering marks visible', () => {
    expect(escapeControlCharacters('a\u001b[31mb\u202Egnp.exe\u0007')).toBe(
      'a␛[31mb\ufffdgnp.exe␇',
    );
  });

  it('does not change line breaks, tabs and other scripts', () => {
    expect(escapeControlCharacters('a\n\tб 日本 🌉')).toBe('a\n\tб 日本 🌉');
  });
});

it('logText removes terminal colours and hyperlinks', () => {
  expect(logText('\u001b[1;33mwarn\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007')).toBe(
    'warn link',
  );
});

it('withoutPosition removes where a configuration is wrong, not what', () => {
  expect(withoutPosition("C:\\Users\\Jörg Müller\\config.jsonc:110:5: missing 'command'")).toBe(
    "missing 'command'",
  );
  expect(withoutPosition('127.0.0.1:80: connection refused')).toBe(
    '127.0.0.1:80: connection refused',
  );
});

it('sentence changes the first letter, but not of paths, and adds the full stop', () => {
  expect(sentence('it requires you to sign in')).toBe('It requires you to sign in.');
  expect(sentence('env.KEY: variable ${KEY} is not set')).toBe(
    'env.KEY: variable ${KEY} is not set.',
  );
  expect(sentence('args[2]: x')).toBe('args[2]: x.');
  for (const same of ['', 'Done.', 'Cut here…', 'Open https://example.com/a', 'Line\nof output']) {
    expect(sentence(same)).toBe(same);
  }
});
