import { act, render, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { EditorMessages, pauseMs } from './editor-messages';

test('messages of an editor are announced after the last keystroke, not at each', () => {
  vi.useFakeTimers();
  const messages = (value: string) => (
    <EditorMessages id="m" value={value} className="">
      {`${value} is no JSON`}
    </EditorMessages>
  );
  const { rerender } = render(messages('{'));
  const busy = () => screen.getByText(/is no JSON/).getAttribute('aria-busy');
  const wait = (ms: number) => act(() => vi.advanceTimersByTime(ms));
  expect(busy()).toBe('false');
  for (const typed of ['{"', '{"a', '{"a"']) {
    rerender(messages(typed));
    wait(pauseMs - 1);
    expect(busy()).toBe('true');
  }
  wait(1);
  expect(busy()).toBe('false');
  vi.useRealTimers();
});
