import { type KeyboardEvent, type PointerEvent, useLayoutEffect, useRef, useState } from 'react';
import { classes } from '@/lib/classes';
import { letterScale } from '@/lib/rem';
import { texts } from '@/lib/texts';

/**
 * Charts over time, drawn as SVG by hand: the two that this page needs are smaller than
 * any library, and take their colours from the theme.
 */

export interface Series {
  name: string;
  /** A class that sets fill (bars) or stroke (lines). */
  look: string;
  /** The same for its mark in the legend. */
  mark: string;
  values: (number | undefined)[];
}

interface ChartProps {
  label: string;
  /** Where each slot begins, in milliseconds; all slots are equally long. */
  at: number[];
  stepMs: number;
  series: Series[];
  format: (value: number) => string;
  height?: number;
  /** Said in the middle of a chart that has nothing to show. */
  empty?: string | undefined;
  /** Called with a slot that was clicked, or chosen by Enter. */
  onPick?: (from: number, to: number) => void;
}

/** Room for the words at its edges, for letters of the usual size. */
const edges = { left: 50, bottom: 20, top: 8 };

/** Stacked bars: how much there was of each. */
export function BarChart(props: ChartProps) {
  const totals = props.at.map((_, i) =>
    props.series.reduce((sum, one) => sum + (one.values[i] ?? 0), 0),
  );
  const most = niceCeiling(Math.max(1, ...totals));
  return (
    <Frame {...props} most={most} ticks={[0, most / 2, most]} scale={(v) => v / most}>
      {({ x, y, slot }) =>
        props.at.map((at, i) => {
          let base = 0;
          return props.series.map((one) => {
            const value = one.values[i] ?? 0;
            if (value === 0) return null;
            const from = y(base);
            base += value;
            const to = Math.min(y(base), from - 1.5);
            return (
              <rect
                key={`${at}/${one.name}`}
                x={x(i) + Math.min(1.5, slot * 0.12)}
                width={Math.max(1, slot - Math.min(3, slot * 0.24))}
                y={to}
                height={from - to}
                rx={Math.min(2, slot / 4)}
                className={one.look}
              />
            );
          });
        })
      }
    </Frame>
  );
}

/** Lines on a logarithmic scale, because durations differ by powers of ten. */
export function LogLineChart(props: ChartProps) {
  const all = props.series.flatMap((one) => one.values).filter((v): v is number => Number(v) > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(...all, 1e9)));
  const high = Math.max(low * 10, 10 ** Math.ceil(Math.log10(Math.max(...all, 1))));
  const span = Math.log10(high / low);
  const scale = (v: number) => Math.max(0, Math.log10(Math.max(v, low) / low) / span);
  const every = Math.ceil(span / 4);
  const ticks = Array.from(
    { length: Math.floor(span / every) + 1 },
    (_, i) => low * 10 ** (i * every),
  );
  return (
    <Frame {...props} most={high} ticks={ticks} scale={scale}>
      {({ x, y, slot }) =>
        props.series.map((one) => (
          <g key={one.name} className={classes('fill-none', one.look)}>
            <path
              d={path(one.values, (i) => x(i) + slot / 2, y)}
              strokeWidth="1.75"
              strokeLinejoin="round"
              strokeLinecap="round"
            />
            {/* A slot between two empty ones would be a line without length. */}
            {one.values.map((value, i) =>
              value !== undefined && lonely(one.values, i) ? (
                <circle
                  // biome-ignore lint/suspicious/noArrayIndexKey: slots have no other identity
                  key={i}
                  cx={x(i) + slot / 2}
                  cy={y(value)}
                  r="1.5"
                  strokeWidth="1.75"
                />
              ) : null,
            )}
          </g>
        ))
      }
    </Frame>
  );
}

function lonely(values: (number | undefined)[], i: number): boolean {
  return values[i - 1] === undefined && values[i + 1] === undefined;
}

function path(
  values: (number | undefined)[],
  x: (i: number) => number,
  y: (v: number) => number,
): string {
  let out = '';
  values.forEach((value, i) => {
    if (value === undefined) return;
    out += `${values[i - 1] === undefined ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return out;
}

interface Plot {
  x: (slot: number) => number;
  y: (value: number) => number;
  slot: number;
}

function Frame({
  label,
  at,
  stepMs,
  series,
  format,
  height = 180 * letterScale(),
  empty,
  onPick,
  ticks,
  scale,
  children,
}: ChartProps & {
  most: number;
  ticks: number[];
  scale: (value: number) => number;
  children: (plot: Plot) => React.ReactNode;
}) {
  const letters = letterScale();
  const left = edges.left * letters;
  const bottom = edges.bottom * letters;
  const top = edges.top * letters;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [slotAt, setSlotAt] = useState<number | undefined>(undefined);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(160, element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const n = Math.max(1, at.length);
  const slot = (width - left) / n;
  const plot: Plot = {
    slot,
    x: (i) => left + i * slot,
    y: (value) => top + (1 - scale(value)) * (height - top - bottom),
  };
  const here = slotAt !== undefined && slotAt < at.length ? slotAt : undefined;
  const pick = (i: number) => {
    const from = at[i];
    if (from !== undefined) onPick?.(from, from + stepMs);
  };
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - left;
    const i = Math.floor(x / slot);
    setSlotAt(i >= 0 && i < at.length ? i : undefined);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      setSlotAt(Math.min(at.length - 1, Math.max(0, (here ?? (step > 0 ? -1 : at.length)) + step)));
    } else if (event.key === 'Enter' && here !== undefined) pick(here);
  };
  return (
    <figure aria-label={label} className="min-w-0">
      <figcaption className="mb-1 flex min-h-5 flex-wrap items-baseline gap-x-4 text-xs text-ink2">
        {series.map((one) => (
          <span key={one.name} className="inline-flex items-center gap-1.5">
            <span className={classes('size-2 rounded-full', one.mark)} aria-hidden />
            {one.name}
            {here !== undefined && (
              <span className="font-medium text-ink">
                {one.values[here] === undefined ? '–' : format(one.values[here])}
              </span>
            )}
          </span>
        ))}
        {here !== undefined && (
          <span className="ml-auto text-ink3" aria-live="polite">
            {slotName(at[here] ?? 0, stepMs)}
          </span>
        )}
      </figcaption>
      <div ref={box}>
        <svg
          role="img"
          aria-label={`${label}. ${texts.chart.hint}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read its values
          tabIndex={0}
          width={width}
          height={height}
          className={classes(
            'block max-w-full rounded outline-offset-2',
            onPick && here !== undefined && 'cursor-pointer',
          )}
          onPointerMove={point}
          onPointerLeave={() => setSlotAt(undefined)}
          onBlur={() => setSlotAt(undefined)}
          onKeyDown={onKey}
          onClick={() => here !== undefined && pick(here)}
        >
          {/* A scale of nothing says nothing, and would cross the words. */}
          {(empty ? ticks.slice(0, 1) : ticks).map((value) => (
            <g key={value}>
              <line
                x1={left}
                x2={width}
                y1={Math.round(plot.y(value)) + 0.5}
                y2={Math.round(plot.y(value)) + 0.5}
                className="stroke-line"
              />
              <text
                x={left - 6}
                y={plot.y(value) + 3.5 * letters}
                textAnchor="end"
                className="fill-ink3 text-2xs"
              >
                {!empty && format(value)}
              </text>
            </g>
          ))}
          {timeTicks(at, stepMs, width - left).map(({ i, text }) => (
            <text
              key={i}
              x={plot.x(i) + slot / 2}
              y={height - 5 * letters}
              textAnchor={i === 0 ? 'start' : i === at.length - 1 ? 'end' : 'middle'}
              className="fill-ink3 text-2xs"
            >
              {text}
            </text>
          ))}
          {here !== undefined && (
            <rect
              x={plot.x(here)}
              y={top}
              width={slot}
              height={height - top - bottom}
              className="fill-ink opacity-[0.06]"
            />
          )}
          {children(plot)}
          {empty && (
            <text
              x={left + (width - left) / 2}
              y={top + (height - top - bottom) / 2}
              textAnchor="middle"
              className="fill-ink3 text-sm"
            >
              {empty}
            </text>
          )}
        </svg>
      </div>
    </figure>
  );
}

const hour = 3_600_000;

/** When a slot was, as exactly as its length asks for. */
function slotName(at: number, stepMs: number): string {
  const d = new Date(at);
  const day = d.toLocaleDateString('en', { weekday: 'short', day: 'numeric', month: 'short' });
  return stepMs >= 24 * hour ? day : `${day} ${clockOf(d)}`;
}

function clockOf(d: Date): string {
  return `${String(d.getHours()).padStart(2, '0')}:${String(d.getMinutes()).padStart(2, '0')}`;
}

function timeTicks(at: number[], stepMs: number, width: number): { i: number; text: string }[] {
  const many = Math.max(2, Math.min(7, Math.floor(width / 90)));
  const every = Math.max(1, Math.round(at.length / many));
  const days = at.length * stepMs > 36 * hour;
  const out: { i: number; text: string }[] = [];
  for (let i = Math.floor(every / 2); i < at.length; i += every) {
    const d = new Date(at[i] ?? 0);
    out.push({
      i,
      text: days ? d.toLocaleDateString('en', { day: 'numeric', month: 'short' }) : clockOf(d),
    });
  }
  return out;
}

/** The next round number whose half is a round number too. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = power < 10 ? [1, 2, 4, 6, 8, 10] : [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10];
  const step = steps.find((s) => s * power >= value) ?? 10;
  return Math.max(2, Math.round(step * power));
}

/** What a chart of that height takes, before there is anything to draw. */
export function ChartSpace({ height }: { height: number }) {
  return (
    <div aria-hidden data-loading>
      <div className="mb-1 min-h-5" />
      <svg width="1" height={height} className="block" />
    </div>
  );
}

/** Puts sparse values into slots of equal length from `from` to `to`. */
export function slots<T>(
  list: readonly T[],
  at: (one: T) => number,
  from: number,
  to: number,
  stepMs: number,
): { at: number[]; values: (T | undefined)[] } {
  const first = Math.floor(from / stepMs) * stepMs;
  const wanted = Math.ceil((to - first) / stepMs);
  const n = Number.isFinite(wanted) ? Math.min(1000, Math.max(1, wanted)) : 0;
  const starts = Array.from({ length: n }, (_, i) => first + i * stepMs);
  const values = new Array<T | undefined>(n).fill(undefined);
  for (const one of list) {
    const i = Math.floor((at(one) - first) / stepMs);
    if (i >= 0 && i < n) values[i] = one;
  }
  return { at: starts, values };
}
