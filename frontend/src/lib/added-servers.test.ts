import { expect, it } from 'vitest';
import { isNoticeOfAddedServer, rememberAddedServers } from './added-servers';

it('knows the notices of what was just added here, and no others', () => {
  expect(isNoticeOfAddedServer('command:files', 'runs a', 0)).toBe(false);
  rememberAddedServers(['Files'], 0);
  expect(isNoticeOfAddedServer('command:files', 'runs a', 1000)).toBe(true);
  expect(isNoticeOfAddedServer('command:files', 'runs a', 2000)).toBe(true); // the same, shown again
  expect(isNoticeOfAddedServer('command:files', 'runs b', 3000)).toBe(false); // somebody changed it
  expect(isNoticeOfAddedServer('command:files', 'runs a', 60_000)).toBe(false);
  expect(isNoticeOfAddedServer('command:other', 'runs a', 1000)).toBe(false);
  expect(isNoticeOfAddedServer('network', 'down', 1000)).toBe(false);
});
