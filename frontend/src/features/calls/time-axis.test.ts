import { expect, test } from 'vitest';
import { timeAxis } from './time-axis';

const hour = 3_600_000;

test('calls are drawn to scale, and a long pause as a short break', () => {
  const axis = timeAxis([
    { from: 0, to: 4000 },
    { from: 1000, to: 2000 },
    { from: 9 * hour, to: 9 * hour + 4000 },
  ]);
  expect(axis.stretches).toHaveLength(2);
  expect(axis.at(0)).toBe(0);
  expect(axis.at(2000)).toBeCloseTo(axis.at(4000) / 2);
  expect(axis.at(4000)).toBeCloseTo(0.485);
  expect(axis.at(5 * hour)).toBeCloseTo(0.485); // within the break
  expect(axis.at(9 * hour)).toBeCloseTo(0.515);
  expect(axis.at(9 * hour + 4000)).toBeCloseTo(1);
});

test('the axis is monotonic for all intervals', () => {
  for (const intervals of [
    [],
    [{ from: 5, to: 5 }],
    Array.from({ length: 300 }, (_, i) => ({ from: i * hour, to: i * hour + (i % 7) })),
  ]) {
    const axis = timeAxis(intervals);
    let before = 0;
    for (const { from, to } of intervals) {
      for (const at of [axis.at(from), axis.at(to)]) {
        expect(at).toBeGreaterThanOrEqual(before);
        expect(at).toBeLessThanOrEqual(1.000001);
        before = at;
      }
    }
  }
});
