/** Ages, durations and sizes as the user reads them: a number, a space and a unit. */

/** "3 s", "12 min", "4 h 5 min", "9 d": how long ago `at` was. Empty for a time that is not set. */
export function age(at: string | undefined, now: number): string {
  const then = moment(at);
  return then === undefined ? '' : span(Math.max(0, Math.floor((now - then) / 1000)));
}

/** Whole seconds in their two largest units, in one unit below an hour: "59 min", "2 h 1 min". */
function span(s: number): string {
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return both(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return both(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

function both(large: number, unit: string, small: number, smallUnit: string): string {
  return small > 0 ? `${large} ${unit} ${small} ${smallUnit}` : `${large} ${unit}`;
}

/** Milliseconds of an API time, or undefined for Go's zero time and invalid text. */
export function moment(at: string | undefined): number | undefined {
  if (!at || at.startsWith('0001-')) return undefined;
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? undefined : ms;
}

/** A duration given in nanoseconds: "820 µs", "12.4 ms", "1.53 s", "2 min 4 s". */
export function duration(ns: number): string {
  if (!Number.isFinite(ns) || ns < 0) return '–';
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns < 999.5e3) return `${Math.round(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${significant(ns / 1e6)} ms`;
  if (ns < 59.95e9) return `${significant(ns / 1e9)} s`;
  const s = Math.round(ns / 1e9);
  return s < 3600 ? both(Math.floor(s / 60), 'min', s % 60, 's') : span(s);
}

/** A duration that somebody chose, without zeros after the point: "30 s". */
export function roundDuration(ns: number): string {
  return duration(ns).replace(/\.0+(?= )/, '');
}

function significant(x: number): string {
  if (x >= 99.95) return String(Math.round(x));
  return x >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}

/** "0 B", "812 B", "1.4 kB", "38 MB": powers of 1000. */
export function bytes(n: number | undefined): string {
  if (n === undefined || !Number.isFinite(n) || n < 0) return '–';
  if (n < 1000) return `${n} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = n;
  let unit = -1;
  do {
    value /= 1000;
    unit++;
  } while (value >= 999.5 && unit < units.length - 1);
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

const number = new Intl.NumberFormat('en');

/** 12,345 */
export function count(n: number): string {
  return number.format(n);
}

/** `part` as a percentage of `whole`: "4.1%". */
export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%';
  const percent = (part / whole) * 100;
  return percent < 0.1 ? '< 0.1%' : `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
}

const pad = (n: number, width = 2) => String(n).padStart(width, '0');

/** The local time of day to the second; with the date when it was not today. */
export function clock(at: string, now: number): string {
  const ms = moment(at);
  if (ms === undefined) return '–';
  const d = new Date(ms);
  const time = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  if (d.toDateString() === new Date(now).toDateString()) return time;
  return `${d.toLocaleDateString('en', { day: 'numeric', month: 'short' })} ${time.slice(0, 5)}`;
}

/** Local date and time to the millisecond, for details and tooltips. */
export function exactTime(at: string | undefined): string {
  const ms = moment(at);
  if (ms === undefined) return '–';
  const d = new Date(ms);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}.${pad(d.getMilliseconds(), 3)}`;
}

/** Orders names as people count: "tool_2" comes before "tool_10". */
export const byName = new Intl.Collator('en', { numeric: true }).compare;

/** Call ids are decimal strings beyond 2^53: newer means longer or later in order. */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Untrusted text for one line of the page: control characters (also of terminal escape sequences)
 * and characters that reorder text become visible symbols.
 */
export function escapeControlCharacters(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches them
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (c) => {
      const code = c.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? '\u2421' : '\ufffd';
    },
  );
}

/** Removes ANSI colour and cursor sequences from a log line, then escapes control characters. */
export function logText(text: string): string {
  return escapeControlCharacters(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
    text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g, ''),
  );
}

/** The beginning of a text that exceeds a length. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A message without the file and the position at its beginning, for rows with little space. */
export const withoutPosition = (text: string) => text.replace(/^.+?:\d+:\d+: /, '');

/**
 * A sentence of the daemon like the page's own: with a capital and a full stop. One that begins with
 * a path or a name of the configuration keeps it, and no stop is added to a URL.
 */
export function sentence(text: string): string {
  const start = /^\w+[._/[]\w/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1);
  return text === '' || /[.!?…:]$|:\/\/\S*$|\n/.test(text) ? start : `${start}.`;
}

/** Seconds as a clock counts them down: "1:05". */
export function clockSpan(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
}

/** Text that can be part of a URL: without unpaired surrogates. */
export function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, '\ufffd');
}

/** A short form of the version; a digest is abbreviated. */
export const shortVersion = (v: string) =>
  /^\d/.test(v) ? `v${v}` : v.replace(/sha256:([0-9a-f]{12})[0-9a-f]{52}/, 'sha256:$1');
