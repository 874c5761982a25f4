import { expect, it } from 'vitest';
import {
  isNoticeOfAddedServer,
  rememberAddedServers,
  rememberImport,
} from './added-server-notices';

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

it('recognizes the notices of all servers that an import adds, and of no others', () => {
  rememberImport(['old', 'My Server'], 100_000);
  expect(isNoticeOfAddedServer('command:demo', 'runs a', 101_000)).toBe(true);
  expect(isNoticeOfAddedServer('command:demo', 'runs b', 102_000)).toBe(false);
  expect(isNoticeOfAddedServer('command:old', 'runs a', 101_000)).toBe(false);
  expect(isNoticeOfAddedServer('command:my server', 'runs a', 101_000)).toBe(false);
  expect(isNoticeOfAddedServer('command:late', 'runs a', 160_000)).toBe(false);
});
