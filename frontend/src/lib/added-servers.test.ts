import { expect, it } from 'vitest';
import { isNoticeOfAddedServer, rememberAddedServers } from './added-servers';

it('recognizes only the notices of servers that were just added on this page', () => {
  expect(isNoticeOfAddedServer('command:files', 'runs a', 0)).toBe(false);
  rememberAddedServers(['Files'], 0);
  expect(isNoticeOfAddedServer('command:files', 'runs a', 1000)).toBe(true);
  expect(isNoticeOfAddedServer('command:files', 'runs a', 2000)).toBe(true); // the same notice, shown again
  expect(isNoticeOfAddedServer('command:files', 'runs b', 3000)).toBe(false); // the command was changed
  expect(isNoticeOfAddedServer('command:files', 'runs a', 60_000)).toBe(false);
  expect(isNoticeOfAddedServer('command:other', 'runs a', 1000)).toBe(false);
  expect(isNoticeOfAddedServer('network', 'down', 1000)).toBe(false);
});
