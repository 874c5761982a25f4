import { act, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { expect, test, vi } from 'vitest';
import { SearchField } from './fields';

function Page({ reported }: { reported: string[] }) {
  const [value, setValue] = useState('');
  return (
    <SearchField
      label="Search"
      value={value}
      onChange={(text) => {
        reported.push(text);
        setValue(text);
      }}
      onEnter={(text) => {
        const rest = text.replace('outcome:error', '').trim();
        setValue(rest);
        return rest;
      }}
    />
  );
}

test('after Enter, a search box keeps what Enter left and does not report the old text', () => {
  vi.useFakeTimers();
  const reported: string[] = [];
  try {
    render(<Page reported={reported} />);
    const box = screen.getByRole('searchbox');
    for (const [typed, left] of [
      ['outcome:error', ''],
      ['outcome:error gate', 'gate'],
      ['gate', 'gate'],
    ]) {
      fireEvent.change(box, { target: { value: typed } });
      fireEvent.keyDown(box, { key: 'Enter' });
      act(() => vi.advanceTimersByTime(1000));
      expect(box).toHaveValue(left);
    }
    expect(reported).toEqual([]);
    fireEvent.change(box, { target: { value: 'gates' } });
    act(() => vi.advanceTimersByTime(1000));
    expect(reported).toEqual(['gates']);
  } finally {
    vi.useRealTimers();
  }
});
