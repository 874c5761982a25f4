import { expect, it } from 'vitest';
import { integers, tickSpace } from './time-chart';

it('each height of bars has a tick above 0', () => {
  for (const height of [20, 44, 300])
    for (let most = 2; most < 3000; most++) {
      // As uPlot selects it.
      const step = integers.find((one) => (one * height) / most >= tickSpace(height, 1));
      expect(step).toBeLessThanOrEqual(most);
    }
});
