import { afterEach, expect, test, vi } from 'vitest';
import { ChunkLoadError, lazyChunk } from './lazy-chunk';

afterEach(() => vi.useRealTimers());

test('loading a chunk is retried, and finally fails with a ChunkLoadError', async () => {
  vi.useFakeTimers();
  const load = vi.fn().mockRejectedValueOnce(new TypeError('Load failed')).mockResolvedValue('it');
  const loaded = lazyChunk(load)();
  await vi.runAllTimersAsync();
  expect(await loaded).toBe('it');
  expect(load).toHaveBeenCalledTimes(2);

  const never = vi.fn().mockRejectedValue(new TypeError('Load failed'));
  const failed = expect(lazyChunk(never)()).rejects.toBeInstanceOf(ChunkLoadError);
  await vi.runAllTimersAsync();
  await failed;
  expect(never).toHaveBeenCalledTimes(4);
});
