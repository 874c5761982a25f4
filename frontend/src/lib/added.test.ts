import { expect, it } from 'vitest';
import { noteAdded, saysOnlyAdded } from './added';

it('knows the notices of what was just added here, and no others', () => {
  expect(saysOnlyAdded('command:files', 0)).toBe(false);
  noteAdded(['Files'], 0);
  expect(saysOnlyAdded('command:files', 1000)).toBe(true);
  expect(saysOnlyAdded('command:files', 60_000)).toBe(false);
  expect(saysOnlyAdded('command:other', 1000)).toBe(false);
  expect(saysOnlyAdded('network', 1000)).toBe(false);
});
