/** A longer pause is drawn as a short break. */
export const pauseMs = 20_000;

interface Interval {
  from: number;
  to: number;
}

/** A time span without long pauses, and its position and width as fractions of the axis. */
export interface Stretch extends Interval {
  left: number;
  width: number;
}

/** The width of a break as a fraction of the axis; all breaks use at most half of the width. */
const breakShare = 0.03;

/**
 * Maps intervals, sorted by their start, to one axis. A session can last a day and its calls
 * milliseconds, so only the spans with activity are drawn to scale.
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
  // The minimum length of a span, so that a single instant has a width, too.
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
