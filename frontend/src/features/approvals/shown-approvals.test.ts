import { expect, it } from 'vitest';
import type { Approval } from '@/types/api';
import { nextPending, updateShown } from './shown-approvals';

const approvals = (ids: string) => [...ids].map((id) => ({ id }) as Approval);
const read = (shown: ReturnType<typeof updateShown>) =>
  shown.map(({ approval, ended }) => (ended ? `(${approval.id})` : approval.id)).join(' ');

it('no card changes its place when another one ends or arrives', () => {
  let shown = updateShown([], approvals('abc'));
  expect(read(shown)).toBe('a b c');
  shown = updateShown(shown, approvals('bc'));
  expect(read(shown)).toBe('(a) b c');
  shown = updateShown(shown, approvals('dcb'));
  expect(read(shown)).toBe('(a) b c d');
  shown = updateShown(shown, approvals('da'));
  expect(read(shown)).toBe('a (b) (c) d');
});

it('the card after one that ended is the next pending one, or else the last one', () => {
  const shown = updateShown(updateShown([], approvals('abcd')), approvals('ad'));
  expect(nextPending(shown, 'b')).toBe('d');
  expect(nextPending(shown, 'd')).toBe('a');
  expect(nextPending(updateShown(shown, []), 'b')).toBeUndefined();
});
