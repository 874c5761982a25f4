import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { classes } from '@/lib/class-names';
import { measureFontScale } from '@/lib/measure-font-scale';
import { watchColours } from '@/lib/theme';

// uPlot, in its own chunk. Only lazy-chart.tsx imports it, lazily.

export interface Series {
  name: string;
  /** The name of a colour in styles.css. */
  colour: 'accent' | 'ok' | 'warn' | 'bad';
  values: (number | undefined)[];
}

export interface TimeChartProps {
  label: string;
  /** Stacked bars, or lines on a logarithmic scale: durations differ by powers of ten. */
  kind: 'bars' | 'lines';
  /** Where each slot begins, in milliseconds; all slots are equally long. */
  at: number[];
  stepMs: number;
  series: Series[];
  format: (value: number) => string;
  height: number;
  /** Moments that are drawn as vertical lines; the caption names those of the selected slot. */
  events?: { at: number; name: string }[];
  /** What these moments are. */
  eventName?: string;
  /** Shown in the middle of an empty chart. */
  empty?: string | undefined;
  /** Called with the slot that was clicked or selected with Enter. */
  onPick?: (from: number, to: number) => void;
}

const marks = { accent: 'bg-accent', ok: 'bg-ok', warn: 'bg-warn', bad: 'bg-bad' };

/** Charts of one page show the same moment: the cursors of all of them move together. */
const cursorGroup = 'usage';

/** A chart over time. The arrow keys move its cursor; the legend shows the values there. */
export function TimeChart(props: TimeChartProps) {
  const { label, kind, at, stepMs, series, format, height, empty, onPick } = props;
  const parent = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [slot, setSlot] = useState<number | undefined>(undefined);
  const names = series.map((one) => one.name).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: names represents the series
  useLayoutEffect(() => {
    const element = parent.current;
    if (!element) return;
    const size = () => ({ width: Math.max(160, element.clientWidth), height });
    const made = new uPlot(options(size(), latest, setSlot), dataOf(latest.current), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize(size()));
    observer.observe(element);
    const unwatch = watchColours(() => made.redraw());
    return () => {
      unwatch();
      observer.disconnect();
      made.destroy();
    };
  }, [kind, names, height]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: dataOf reads them
  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [at, series, props.events]);

  const here = slot !== undefined && slot < at.length ? slot : undefined;
  const begin = here === undefined ? undefined : at[here];
  const begun = (props.events ?? []).filter(
    (one) => begin !== undefined && one.at >= begin && one.at < begin + stepMs,
  );
  const moveTo = (next: number | undefined) => {
    const x = next === undefined ? undefined : plot.current?.data[0][next];
    for (const one of uPlot.sync(cursorGroup).plots) {
      const left = x === undefined ? -10 : one.valToPos(x, 'x');
      one.setCursor({ left, top: x === undefined ? -10 : 0 });
    }
  };
  const pick = () => {
    const from = here === undefined ? undefined : at[here];
    if (from !== undefined) onPick?.(from, from + stepMs);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      const from = here ?? (step > 0 ? -1 : at.length);
      moveTo(Math.min(at.length - 1, Math.max(0, from + step)));
    } else if (event.key === 'Enter') pick();
  };
  return (
    <figure aria-label={label} className="min-w-0">
      <figcaption
        className="mb-1 flex min-h-5 flex-wrap items-baseline gap-x-4 text-xs text-ink2"
        aria-live="polite"
      >
        {series.map((one) => (
          <span key={one.name} className="inline-flex items-center gap-1.5">
            <span className={classes('size-2 rounded-full', marks[one.colour])} aria-hidden />
            {one.name}
            {here !== undefined && (
              <span className="font-medium text-ink">
                {one.values[here] === undefined ? '–' : format(one.values[here])}
              </span>
            )}
          </span>
        ))}
        {begun.length === 0 && props.events?.some((one) => one.at >= (at[0] ?? 0)) && (
          <span className="inline-flex items-center gap-1.5">
            <span className="h-2 border-l border-ink3" aria-hidden />
            {props.eventName}
          </span>
        )}
        {begun.slice(0, 3).map((one) => (
          <span key={`${one.at} ${one.name}`} className="max-w-full truncate text-ink">
            {one.name}
          </span>
        ))}
        {begun.length > 3 && <span>+{begun.length - 3}</span>}
        {here !== undefined && (
          <span className="ml-auto text-ink3">{slotName(at[here] ?? 0, stepMs)}</span>
        )}
      </figcaption>
      <div
        ref={parent}
        role="img"
        aria-label={`${label}. ${'Use the left and right arrow keys to read the values.'}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read its values
        tabIndex={0}
        className={classes(
          'relative min-w-0 overflow-hidden rounded outline-offset-2',
          onPick && here !== undefined && 'cursor-pointer',
        )}
        onBlur={() => moveTo(undefined)}
        onKeyDown={onKey}
        onClick={pick}
      >
        {empty && (
          <p className="absolute inset-0 z-10 flex items-center justify-center text-sm text-ink3">
            <span className="bg-panel px-2">{empty}</span>
          </p>
        )}
      </div>
    </figure>
  );
}

/** Seconds of the middle of each slot, and one list for each series; bars are stacked. */
function dataOf({ kind, at, stepMs, series }: TimeChartProps): uPlot.AlignedData {
  const middles = at.map((begin) => (begin + stepMs / 2) / 1000);
  if (kind === 'lines')
    return [middles, ...series.map((one) => one.values.map((value) => value || null))];
  // The highest bar is drawn first, so each series starts with the sum of all.
  const sums = series.map((_, from) =>
    at.map((_, i) => series.slice(from).reduce((sum, one) => sum + (one.values[i] ?? 0), 0)),
  );
  return [middles, ...sums];
}

const colour = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

function options(
  size: { width: number; height: number },
  latest: { current: TimeChartProps },
  onSlot: (slot: number | undefined) => void,
): uPlot.Options {
  const { kind, series } = latest.current;
  const letters = measureFontScale();
  const font = `${11 * letters}px system-ui, sans-serif`;
  const bars = uPlot.paths.bars?.({ size: [0.76, Number.POSITIVE_INFINITY], radius: 0.1 });
  const axis = { font, stroke: () => colour('ink3'), ticks: { show: false } };
  return {
    ...size,
    // The label of the last tick is centred on it, and can extend beyond the axis.
    padding: [8 * letters, 20 * letters, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false, setScale: false },
      points: { show: kind === 'lines' },
      sync: { key: cursorGroup },
    },
    scales: {
      x: {
        range: () => {
          const { at, stepMs } = latest.current;
          return [(at[0] ?? 0) / 1000, ((at.at(-1) ?? 0) + stepMs) / 1000];
        },
      },
      y:
        kind === 'bars'
          ? { range: (_, _min, most) => [0, Math.max(2, (most || 0) * 1.1)] }
          : {
              distr: 3,
              range: (_, low, high) => uPlot.rangeLog(low || 1e6, high || 1e9, 10, true),
            },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 80 * letters,
        size: 20 * letters,
        gap: 4 * letters,
        values: (_, splits, _axis, _space, step) => {
          const { at, stepMs } = latest.current;
          return splits.map((second) => timeName(second * 1000, step, at.length * stepMs));
        },
      },
      {
        ...axis,
        grid: {
          stroke: () => colour('line'),
          width: 1,
          filter: (_, splits) => (kind === 'bars' ? splits : splits.map(decade)),
        },
        // Half a call does not exist.
        ...(kind === 'bars' && { incrs: integers }),
        space: (_, _axis, _low, _high, height) => tickSpace(height, letters),
        size: 50 * letters,
        gap: 6 * letters,
        values: (_, splits) => {
          const { empty, format } = latest.current;
          return splits.map((value) => (value === null || empty ? '' : format(value)));
        },
      },
    ],
    series: [
      {},
      ...series.map(
        (one): uPlot.Series =>
          kind === 'bars'
            ? { paths: bars, fill: () => colour(one.colour), width: 0, points: { show: false } }
            : {
                stroke: () => colour(one.colour),
                width: 1.75,
                // A slot between two empty ones would be a line of length 0.
                points: { show: true, size: 4, filter: aloneIn },
              },
      ),
    ],
    hooks: {
      setCursor: [(made) => onSlot(made.cursor.idx ?? undefined)],
      draw: [(made) => drawEvents(made, latest.current.events ?? [])],
    },
  };
}

/** The space between ticks, in which a low chart has one above 0: a step is at least 2/5 of any maximum. */
export const tickSpace = (height: number, letters: number) => Math.min(40 * letters, height / 2.6);

export const integers = Array.from({ length: 13 }, (_, n) =>
  [1, 2, 5].map((x) => x * 10 ** n),
).flat();

function drawEvents({ ctx, bbox, valToPos }: uPlot, events: { at: number }[]) {
  ctx.save();
  ctx.strokeStyle = colour('ink3');
  ctx.lineWidth = devicePixelRatio;
  for (const { at } of events) {
    const x = Math.round(valToPos(at / 1000, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** A power of ten, or null: there would be too many lines between them. */
const decade = (value: number) =>
  Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? value : null;

/** The slots of a series whose neighbours are both empty. */
function aloneIn({ data }: uPlot, index: number): number[] {
  const values = data[index] ?? [];
  return [...values.keys()].filter(
    (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
  );
}

const hour = 3_600_000;

/** The start of a slot, without the time if it is a day here: the days of the daemon are those of UTC. */
export function slotName(at: number, stepMs: number): string {
  const d = new Date(at);
  const day = d.toLocaleDateString('en', { weekday: 'short', day: 'numeric', month: 'short' });
  const clock = clockOf(d);
  return stepMs >= 24 * hour && clock === '00:00' ? day : `${day} ${clock}`;
}

function clockOf(d: Date): string {
  return `${String(d.getHours()).padStart(2, '0')}:${String(d.getMinutes()).padStart(2, '0')}`;
}

/** The label at a tick of the time axis; midnight shows the date if there are several days. */
function timeName(at: number, stepSeconds: number, rangeMs: number): string {
  const d = new Date(at);
  const clock = clockOf(d);
  const isDay = stepSeconds * 1000 >= 24 * hour || (rangeMs > 36 * hour && clock === '00:00');
  return isDay ? d.toLocaleDateString('en', { day: 'numeric', month: 'short' }) : clock;
}
