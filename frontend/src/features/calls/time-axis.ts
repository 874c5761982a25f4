/** A pause that is longer than this is drawn as a short break. */
export const pauseMs = 20_000;

interface Interval {
  from: number;
  to: number;
}

/** A stretch of time without long pauses, and where it is drawn, as parts of the whole width. */
export interface Stretch extends Interval {
  left: number;
  width: number;
}

/** How wide a break is against all stretches together; many breaks share half of the width. */
const breakShare = 0.03;

/**
 * Puts intervals, sorted by their beginning, on one axis. A session may last a day and its calls
 * milliseconds, so that only the time in which something happened is drawn to scale.
 */
export function timeAxis(intervals: Interval[]): { stretches: Stretch[]; at(ms: number): number } {
  const joined: Interval[] = [];
  for (const { from, to } of intervals) {
    const last = joined.at(-1);
    if (last && from - last.to <= pauseMs) last.to = Math.max(last.to, to);
    else joined.push({ from, to: Math.max(from, to) });
  }
  const breaks = Math.min(breakShare, 0.5 / Math.max(1, joined.length - 1));
  const scaled = 1 - breaks * Math.max(0, joined.length - 1);
  // A single moment takes some room too, or it would be all that is drawn of a stretch.
  const least = Math.max(1, ...joined.map(({ from, to }) => to - from)) / 50;
  const length = ({ from, to }: Interval) => Math.max(least, to - from);
  const total = joined.reduce((sum, one) => sum + length(one), 0);
  let left = 0;
  const stretches = joined.map((one) => {
    const width = (scaled * length(one)) / total;
    const stretch = { ...one, left, width };
    left += width + breaks;
    return stretch;
  });
  return {
    stretches,
    at(ms) {
      const in_ = stretches.findLast(({ from }) => ms >= from) ?? stretches[0];
      if (!in_) return 0;
      return in_.left + in_.width * Math.min(1, Math.max(0, (ms - in_.from) / length(in_)));
    },
  };
}
