import { act, renderHook } from '@testing-library/react';
import { expect, it } from 'vitest';
import { heldItems, useHeldList, useSteadyOrder } from './steady-list';

interface Item {
  id: string;
  state?: string;
}
const idOf = ({ id }: Item) => id;
const list = (ids: string, state?: string): Item[] =>
  [...ids].map((id) => ({ id, ...(state && { state }) }));
const ids = (items: Item[]) => items.map(idOf).join('');

it('a held list changes in place, is continued at its end, and counts what is new', () => {
  const { shown, newer } = heldItems(
    list('cba'),
    [...list('ed'), ...list('cba', 'ok'), ...list('0')],
    idOf,
  );
  expect(ids(shown)).toBe('cba0');
  expect(shown[0]?.state).toBe('ok');
  expect(newer).toBe(2);
});

it('a held list stays when none of its items is loaded any more', () => {
  expect(heldItems(list('cba'), list('zyx'), idOf)).toEqual({ shown: list('cba'), newer: 3 });
});

it('a list is held only while it is read, until the new items are asked for or it is another one', () => {
  const { result, rerender } = renderHook(
    ({ items, reading, key }: { items: string; reading: boolean; key: number }) =>
      useHeldList(list(items), idOf, reading, key),
    { initialProps: { items: 'a', reading: false, key: 1 } },
  );
  const shows = (items: string, newer: number) =>
    expect([ids(result.current.shown), result.current.newer]).toEqual([items, newer]);
  rerender({ items: 'ba', reading: false, key: 1 });
  shows('ba', 0);
  rerender({ items: 'cba', reading: true, key: 1 });
  shows('ba', 1);
  act(() => result.current.show());
  shows('cba', 0);
  rerender({ items: 'dcba', reading: true, key: 1 });
  shows('cba', 1);
  rerender({ items: 'dcba', reading: true, key: 2 });
  shows('dcba', 0);
  rerender({ items: 'edcba', reading: false, key: 2 });
  shows('edcba', 0);
});

it('the order of a list is steady while it is read', () => {
  const { result, rerender } = renderHook(
    ({ items, reading, key }: { items: string; reading: boolean; key: string }) =>
      useSteadyOrder(list(items), idOf, reading, key),
    { initialProps: { items: 'abc', reading: true, key: 'state' } },
  );
  rerender({ items: 'dcba', reading: true, key: 'state' });
  expect(ids(result.current)).toBe('abcd');
  rerender({ items: 'dcba', reading: true, key: 'name' });
  expect(ids(result.current)).toBe('dcba');
  rerender({ items: 'abcd', reading: false, key: 'name' });
  expect(ids(result.current)).toBe('abcd');
});
