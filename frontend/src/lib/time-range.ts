/** Time ranges as in the URL: "24h", or two times. */

export const ranges = ['15m', '1h', '24h', '7d', '30d'] as const;
export type Range = (typeof ranges)[number];

const minute = 60_000;
export const lengths: Record<Range, number> = {
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
  /** RFC 3339; either can be absent. Both are used only without a range. */
  from?: string;
  to?: string;
}

/** The start and end of a time range now; undefined if it has none. */
export function bounds(span: Span, now: number): { from?: number; to?: number } {
  if (span.range) return { from: now - lengths[span.range] };
  const at = (text: string | undefined) => {
    const ms = text === undefined ? Number.NaN : Date.parse(text);
    return Number.isNaN(ms) ? undefined : ms;
  };
  return { from: at(span.from), to: at(span.to) };
}

/** Reads a time range from a query string; invalid ranges and times are ignored. */
export function spanOf(search: Record<string, unknown>): Span {
  if (isRange(search.range)) return { range: search.range };
  const moment = (value: unknown) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : undefined;
  return { from: moment(search.from), to: moment(search.to) };
}

/** Adds the times of a range to a query for the daemon. */
export function setBounds(query: URLSearchParams, span: Span, now: number): void {
  const { from, to } = bounds(span, now);
  if (from !== undefined) query.set('from', new Date(from).toISOString());
  if (to !== undefined) query.set('to', new Date(to).toISOString());
}
