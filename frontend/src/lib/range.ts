/** Ranges of time as they stand in the address: "24h", or two moments. */

export const ranges = ['15m', '1h', '24h', '7d', '30d'] as const;
export type Range = (typeof ranges)[number];

const minute = 60_000;
const lengths: Record<Range, number> = {
  '15m': 15 * minute,
  '1h': 60 * minute,
  '24h': 24 * 60 * minute,
  '7d': 7 * 24 * 60 * minute,
  '30d': 30 * 24 * 60 * minute,
};

function isRange(text: unknown): text is Range {
  return ranges.some((range) => range === text);
}

export interface Span {
  range?: Range;
  /** RFC 3339; either may be absent. Both are only looked at when there is no range. */
  from?: string;
  to?: string;
}

/** The moments that a span means now; undefined where it has no end. */
export function bounds(span: Span, now: number): { from?: number; to?: number } {
  if (span.range) return { from: now - lengths[span.range] };
  const at = (text: string | undefined) => {
    const ms = text === undefined ? Number.NaN : Date.parse(text);
    return Number.isNaN(ms) ? undefined : ms;
  };
  return { from: at(span.from), to: at(span.to) };
}

/** Reads a span out of a query string; a range that is none, or a moment that is none, is left out. */
export function spanOf(search: Record<string, unknown>): Span {
  if (isRange(search.range)) return { range: search.range };
  const moment = (value: unknown) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : undefined;
  return { from: moment(search.from), to: moment(search.to) };
}

/** Puts the moments of a span into a query for the daemon. */
export function setBounds(query: URLSearchParams, span: Span, now: number): void {
  const { from, to } = bounds(span, now);
  if (from !== undefined) query.set('from', new Date(from).toISOString());
  if (to !== undefined) query.set('to', new Date(to).toISOString());
}
