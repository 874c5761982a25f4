import { expect, test } from 'vitest';
import type { Client, Connection } from '@/types/api';
import { joinClients } from './joined-clients';

const connection = (id: string, name: string, state = 'connected', more = {}) =>
  ({
    id,
    key: id,
    name,
    state,
    connected: state === 'connected',
    detected: true,
    ...more,
  }) as Connection;
const client = (token: string, name: string, more = {}) =>
  ({ token, name, version: '1', hasToken: token !== '', sessions: 0, calls: 1, ...more }) as Client;

test('a program, its token and its calls are one client with one name', () => {
  const all = joinClients(
    [connection('cursor', 'Cursor')],
    [
      client('cursor', 'cursor-vscode', { calls: 2, lastSeen: '2026-01-01T00:00:00Z' }),
      client('cursor', 'cursor-cli', { calls: 3, lastSeen: '2026-01-02T00:00:00Z' }),
    ],
    ['cursor'],
  );
  expect(all).toHaveLength(1);
  expect(all[0]).toMatchObject({ name: 'Cursor', token: 'cursor', calls: 5 });
  expect(all[0]?.lastSeen).toBe('2026-01-02T00:00:00Z');
  expect(all[0]?.reported.map(({ name }) => name)).toEqual(['cursor-cli', 'cursor-vscode']);
});

test('clients without a token are distinguished by the name that they report', () => {
  const all = joinClients([], [client('', 'one'), client('', 'two'), client('', 'one')]);
  expect(all.map(({ name, calls }) => [name, calls])).toEqual([
    ['one', 2],
    ['two', 1],
  ]);
});

test('an unused token is listed, and a program that is not installed is not', () => {
  const absent = connection('zed', 'Zed', 'notConnected', { detected: false });
  const all = joinClients([absent], [client('backup', '', { calls: 0 })], ['left']);
  expect(all.map(({ name }) => name)).toEqual(['backup', 'left']);
});

test('clients with a broken entry come first, those that are not connected come last', () => {
  const all = joinClients(
    [connection('a', 'A', 'notConnected'), connection('b', 'B'), connection('c', 'C', 'vanished')],
    [],
  );
  expect(all.map(({ name }) => name)).toEqual(['C', 'B', 'A']);
});

test('a client that only initialized a session was seen', () => {
  const lastSeen = '2026-01-03T00:00:00Z';
  const [one] = joinClients([connection('cursor', 'Cursor', 'connected', { lastSeen })], []);
  expect(one?.lastSeen).toBe(lastSeen);
});
