import { expect, it } from 'vitest';
import { texts } from '@/lib/texts';
import type { UsageReport } from '@/types/api';
import { recordedDays } from './api';

const report = (first?: string) =>
  ({ to: '2026-11-22T12:00:00Z', series: first ? [{ at: first }] : [] }) as unknown as UsageReport;

it('reports for how many days calls are recorded', () => {
  expect(recordedDays(report())).toBe(0);
  expect(recordedDays(report('2026-11-22T11:00:00Z'))).toBe(0);
  expect(recordedDays(report('2026-11-21T00:00:00Z'))).toBe(1);
  expect(recordedDays(report('2026-11-20T00:00:00Z'))).toBe(2);
  const { recordedFor } = texts.profiles;
  expect([0, 1, 2].map(recordedFor)).toEqual([
    'Less than one day recorded so far.',
    'Only one day recorded so far.',
    'Only 2 days recorded so far.',
  ]);
});
