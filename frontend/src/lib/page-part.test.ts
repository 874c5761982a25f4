import { afterEach, expect, test, vi } from 'vitest';
import { PartError, part } from './page-part';

afterEach(() => vi.useRealTimers());

test('loading a chunk is retried, and finally fails with a PartError', async () => {
  vi.useFakeTimers();
  const load = vi.fn().mockRejectedValueOnce(new TypeError('Load failed')).mockResolvedValue('it');
  const loaded = part(load)();
  await vi.runAllTimersAsync();
  expect(await loaded).toBe('it');
  expect(load).toHaveBeenCalledTimes(2);

  const never = vi.fn().mockRejectedValue(new TypeError('Load failed'));
  const failed = expect(part(never)()).rejects.toBeInstanceOf(PartError);
  await vi.runAllTimersAsync();
  await failed;
  expect(never).toHaveBeenCalledTimes(4);
});
