import { compareIds } from '@/lib/format';
import { useStored } from '@/lib/stored-preference';
import type { Call } from '@/types/api';

/** The columns with their headings. */
export const columnNames = {
  time: 'Time',
  call: 'Call',
  client: 'Client',
  session: 'Session',
  folder: 'Folder',
  outcome: 'Outcome',
  duration: 'Duration',
  sent: 'Sent',
  size: 'Received',
};
export type ColumnId = keyof typeof columnNames;
export const columnIds = Object.keys(columnNames) as ColumnId[];

/** Widths in rem, so that they scale with the font size. The call takes the remaining space. */
const columnWidths: Record<Exclude<ColumnId, 'call'>, number> = {
  time: 6,
  client: 9,
  session: 6,
  folder: 10,
  outcome: 7.5,
  duration: 6,
  sent: 4.5,
  size: 4,
};

const usual: ColumnId[] = ['time', 'call', 'client', 'outcome', 'duration', 'size'];

/** Validates stored columns, which may come from another version. */
function checkColumns(value: unknown): ColumnId[] {
  const shown = Array.isArray(value) ? value : usual;
  return columnIds.filter((id) => id === 'call' || shown.includes(id));
}

export const useColumns = () => useStored('drawbridge.calls.shown', checkColumns);

export const resetColumns = usual;

/** The columns of a CSS grid. They get narrower if there is less space. */
export const gridOf = (shown: ColumnId[]): string =>
  shown
    .map((id) => (id === 'call' ? 'minmax(10rem, 1fr)' : `minmax(0, ${columnWidths[id]}rem)`))
    .join(' ');

export const sorts = ['oldest', 'longest', 'shortest', 'largest', 'smallest'] as const;
/** Undefined is newest first, the order of the history. */
export type Sort = (typeof sorts)[number];

/** The sort orders that clicks on a heading cycle through; after the last one, newest first. */
export const sortsOf: Partial<Record<ColumnId, Sort[]>> = {
  time: ['oldest'],
  duration: ['longest', 'shortest'],
  size: ['largest', 'smallest'],
};

export function nextSort(column: ColumnId, sort: Sort | undefined): Sort | undefined {
  const own = sortsOf[column] ?? [];
  return own[sort === undefined ? 0 : own.indexOf(sort) + 1];
}

const orders: Record<Sort, (a: Call, b: Call) => number> = {
  oldest: () => 0,
  longest: (a, b) => b.tookNs - a.tookNs,
  shortest: (a, b) => a.tookNs - b.tookNs,
  largest: (a, b) => b.bytesOut - a.bytesOut,
  smallest: (a, b) => a.bytesOut - b.bytesOut,
};

/** The calls in another order; running ones come last, except when sorted by time. */
export function sorted(calls: Call[], sort: Sort | undefined): Call[] {
  if (sort === undefined) return calls;
  const order = orders[sort];
  const running = (call: Call) => (sort !== 'oldest' && call.outcome === '' ? 1 : 0);
  return [...calls].sort(
    (a, b) => running(a) - running(b) || order(a, b) || compareIds(a.id, b.id),
  );
}
