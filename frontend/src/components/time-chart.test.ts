import { expect, it, vi } from 'vitest';
import { integers, slotName, tickSpace } from './time-chart';

it('each height of bars has a tick above 0', () => {
  for (const height of [20, 44, 300])
    for (let most = 2; most < 3000; most++) {
      // As uPlot selects it.
      const step = integers.find((one) => (one * height) / most >= tickSpace(height, 1));
      expect(step).toBeLessThanOrEqual(most);
    }
});

it('a day of UTC is named by its start where that is not midnight', () => {
  const at = Date.UTC(2026, 10, 30);
  const day = 24 * 3_600_000;
  for (const [zone, name] of [
    ['UTC', 'Mon, Nov 30'],
    ['America/Los_Angeles', 'Sun, Nov 29 16:00'],
    ['Asia/Kolkata', 'Mon, Nov 30 05:30'],
  ]) {
    vi.stubEnv('TZ', zone);
    expect(slotName(at, day)).toBe(name);
  }
  vi.unstubAllEnvs();
});
