import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { dismissToast, holdToasts, toast, useLocalToast, useToasts } from './toast';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  holdToasts(false);
  vi.runAllTimers();
  vi.useRealTimers();
});

const shown = () => renderHook(() => useToasts()).result.current.map((one) => one.text);

test('what can be taken back stays longer, and as long as somebody points at it', () => {
  toast('ok', 'saved');
  toast('ok', 'removed', { text: 'Undo', run: () => {} });
  vi.advanceTimersByTime(5000);
  expect(shown()).toEqual(['removed']);
  holdToasts(true);
  vi.advanceTimersByTime(60_000);
  expect(shown()).toEqual(['removed']);
  holdToasts(false);
  expect(shown()).toEqual([]);
});

test('a hold ends with what was held', () => {
  const id = toast('ok', 'first');
  holdToasts(true);
  dismissToast(id);
  toast('ok', 'second');
  vi.advanceTimersByTime(5000);
  expect(shown()).toEqual([]);
});

test('a toast of a part of the page goes with that part', () => {
  const { result, unmount } = renderHook(() => useLocalToast());
  act(() => {
    result.current('ok', 'what was typed is gone', { text: 'Undo', run: () => {} });
  });
  expect(shown()).toEqual(['what was typed is gone']);
  unmount();
  expect(shown()).toEqual([]);
});
