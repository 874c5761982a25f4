import { memo, useState } from 'react';
import { ScrollArea } from '@/components/scroll-area';
import { escapeControlCharacters } from '@/lib/format';
import type { TimeChartProps } from './time-chart';

/** The longest range of a chart has as many slots. */
const mostRows = 1000;

/** The height of the closed table, which is reserved while a chart loads or is empty. */
export function ChartTableSpace() {
  return <div className="mt-1 h-6" aria-hidden />;
}

/** The values of a chart as a table, which is not drawn again when the cursor of the chart moves; slots without a value and without an event are left out. */
export const ChartTable = memo(function ChartTable({
  label,
  at,
  series,
  events = [],
  stepMs,
  format,
  slotName,
}: Omit<TimeChartProps, 'kind' | 'height'> & { slotName: (at: number, stepMs: number) => string }) {
  const [open, setOpen] = useState(false);
  return (
    <details
      className="mt-1 min-h-6 text-xs text-ink2"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="w-fit cursor-pointer rounded leading-6 text-ink3 hover:text-ink2">
        Show as table
        <span className="sr-only">: {label}</span>
      </summary>
      {open && (
        <ScrollArea
          aria-label={`Table: ${label}`}
          className="mt-1 max-h-64 overflow-auto rounded-md border"
        >
          <table className="w-full tabular-nums">
            <caption className="sr-only">{label}</caption>
            <thead>
              <tr className="text-left text-ink3">
                <th scope="col" className="px-1.5 py-1 sm:px-3 font-normal">
                  Time
                </th>
                {series.map((one) => (
                  <th
                    key={one.name}
                    scope="col"
                    className="px-1.5 py-1 sm:px-3 text-right font-normal"
                  >
                    {one.name}
                  </th>
                ))}
                {events.length > 0 && (
                  <th scope="col" className="px-1.5 py-1 sm:px-3 font-normal">
                    Events
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rowsOf({ at, series, events, stepMs }).map((row) => (
                <tr key={row.begin} className="border-t">
                  <th
                    scope="row"
                    className="px-1.5 py-1 sm:px-3 text-left font-normal whitespace-nowrap"
                  >
                    {slotName(row.begin, stepMs)}
                  </th>
                  {row.values.map((value, i) => (
                    <td
                      key={series[i]?.name}
                      className="px-1.5 py-1 sm:px-3 text-right whitespace-nowrap"
                    >
                      {value === undefined ? '–' : format(value)}
                    </td>
                  ))}
                  {events.length > 0 && (
                    <td className="min-w-32 px-1.5 py-1 sm:px-3 [overflow-wrap:anywhere]">
                      {escapeControlCharacters(row.events.slice(0, 20).join(', '))}
                      {row.events.length > 20 && ` +${row.events.length - 20}`}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </details>
  );
});

/** The newest slots that have a value or an event, in the order of time. */
export function rowsOf({
  at,
  series,
  events,
  stepMs,
}: Required<Pick<TimeChartProps, 'at' | 'series' | 'events' | 'stepMs'>>) {
  return at
    .map((begin, i) => ({
      begin,
      values: series.map((one) => one.values[i]),
      events: events
        .filter((one) => one.at >= begin && one.at < begin + stepMs)
        .map((one) => one.name),
    }))
    .filter((row) => row.values.some(Boolean) || row.events.length > 0)
    .slice(-mostRows);
}
