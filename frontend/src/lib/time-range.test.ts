import { expect, it } from 'vitest';
import { bounds, setBounds, spanOf } from './time-range';

const now = Date.parse('2026-11-21T12:00:00Z');

it('a range ends now, a custom range has fixed times', () => {
  expect(bounds({ range: '1h' }, now)).toEqual({ from: now - 3_600_000 });
  expect(bounds({ from: '2026-11-21T10:00:00Z' }, now)).toEqual({
    from: now - 7_200_000,
    to: undefined,
  });
});

it('invalid ranges and times are omitted from the URL', () => {
  expect(spanOf({ range: 'ever', from: 'x', to: '2026-11-21T10:00:00Z' })).toEqual({
    from: undefined,
    to: '2026-11-21T10:00:00Z',
  });
  expect(spanOf({ range: '7d', from: '2026-11-21T10:00:00Z' })).toEqual({ range: '7d' });
});

it('requests to the daemon use UTC', () => {
  const query = new URLSearchParams();
  setBounds(query, { range: '24h' }, now);
  expect(query.toString()).toBe('from=2026-11-20T12%3A00%3A00.000Z');
});
