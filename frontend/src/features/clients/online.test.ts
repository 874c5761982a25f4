import { expect, test } from 'vitest';
import { isOnline } from './online';

const now = Date.parse('2026-11-22T12:00:00Z');
const client = (sessions: number, lastSeen?: string) => ({
  sessions,
  ...(lastSeen === undefined ? {} : { lastSeen }),
});

test('a client with an open session is online, regardless of its last call', () => {
  expect(isOnline(client(1, '2026-11-22T09:00:00Z'), now)).toBe(true);
  expect(isOnline(client(1), now)).toBe(true);
});

test('a client without sessions is online for five minutes after it was seen', () => {
  expect(isOnline(client(0, '2026-11-22T11:55:01Z'), now)).toBe(true);
  expect(isOnline(client(0, '2026-11-22T11:55:00Z'), now)).toBe(false);
});

test('a client that was never seen is not online', () => {
  expect(isOnline(client(0), now)).toBe(false);
  expect(isOnline(client(0, '0001-01-01T00:00:00Z'), now)).toBe(false);
});

test('a client that was disconnected since its last call is not online', () => {
  const seen = client(0, '2026-11-22T11:58:00Z');
  expect(isOnline({ ...seen, left: '2026-11-22T11:59:00Z' }, now)).toBe(false);
  expect(isOnline({ ...seen, left: '2026-11-22T11:57:00Z' }, now)).toBe(true);
  expect(isOnline({ ...client(1), left: '2026-11-22T11:59:00Z' }, now)).toBe(true);
});
