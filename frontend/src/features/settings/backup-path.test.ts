import { expect, it } from 'vitest';
import { backupName, folderOf, isAbsolute, joinPath } from './backup-path';

it('the name of a backup contains the time in seconds', () => {
  expect(backupName(new Date(2026, 10, 2, 4, 5, 6))).toBe(
    'drawbridge-history-2026-11-02-040506.db',
  );
});

it('uses the path separator of the system', () => {
  expect(joinPath('/home/ada/', 'a.db')).toBe('/home/ada/a.db');
  expect(joinPath('/', 'a.db')).toBe('/a.db');
  expect(joinPath('C:\\Users\\ada', 'a.db')).toBe('C:\\Users\\ada\\a.db');
  expect(folderOf('C:\\Users\\ada\\config.jsonc')).toBe('C:\\Users\\ada');
  expect(folderOf('/home/ada/config.jsonc')).toBe('/home/ada');
});

it('distinguishes absolute from relative paths', () => {
  expect(['/a', 'C:\\a', 'c:/a', '\\\\host\\a'].every(isAbsolute)).toBe(true);
  expect(['', 'a', './a', '~/a', 'C:a'].some(isAbsolute)).toBe(false);
});
