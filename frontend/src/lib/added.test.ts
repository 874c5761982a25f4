import { expect, it } from 'vitest';
import { noteAdded, saysOnlyAdded } from './added';

it('knows the notices of what was just added here, and no others', () => {
  expect(saysOnlyAdded('command:files', 'runs a', 0)).toBe(false);
  noteAdded(['Files'], 0);
  expect(saysOnlyAdded('command:files', 'runs a', 1000)).toBe(true);
  expect(saysOnlyAdded('command:files', 'runs a', 2000)).toBe(true); // the same, shown again
  expect(saysOnlyAdded('command:files', 'runs b', 3000)).toBe(false); // somebody changed it
  expect(saysOnlyAdded('command:files', 'runs a', 60_000)).toBe(false);
  expect(saysOnlyAdded('command:other', 'runs a', 1000)).toBe(false);
  expect(saysOnlyAdded('network', 'down', 1000)).toBe(false);
});
