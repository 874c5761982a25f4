import { expect, it } from 'vitest';
import type { SessionCost } from '@/types/api';
import { costsByClient } from './costs-by-client';

const session = (token: string, calls: number, total: number): SessionCost => ({
  session: `s${calls}`,
  client: 'c',
  token,
  at: '2026-11-29T00:00:00Z',
  calls,
  tools: 1,
  resultTokens: 10,
  mode: 'all',
  searches: false,
  modes: [{ mode: 'all', turns: calls + 1, list: 1, discovery: 0, once: 2, total }],
});

it('adds the sessions of a client up', () => {
  const got = costsByClient([session('a', 1, 100), session('b', 9, 5), session('a', 2, 50)]);
  expect(got.map((one) => [one.token, one.sessions, one.calls, one.resultTokens])).toEqual([
    ['b', 1, 9, 10],
    ['a', 2, 3, 20],
  ]);
  expect(got[1]?.modes[0]).toMatchObject({ total: 150, once: 4 });
});
