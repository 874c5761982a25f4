import { classes } from '@/lib/class-names';
import { count, duration, share } from '@/lib/format';
import type { UsageStats } from '@/types/api';

/** The totals of the report. */
export function Figures({ total }: { total: UsageStats }) {
  const list: [string, string, string?][] = [
    ['Calls', count(total.calls)],
    ['Errors', count(total.errors), `${share(total.errors, total.calls)}`],
    ['Median (p50)', duration(total.p50Ns)],
    ['p95', duration(total.p95Ns)],
    ['p99', duration(total.p99Ns)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line shadow-card sm:grid-cols-3 lg:grid-cols-5">
      {list.map(([label, value, note], index) => (
        <div
          key={label}
          className={classes('bg-panel px-4 py-3', index === 0 && 'max-lg:col-span-2')}
        >
          <dt className="text-xs text-ink3">{label}</dt>
          <dd className="mt-0.5 text-xl font-semibold tracking-tight">
            <span className="whitespace-nowrap">{value}</span>
            {note && <span className="ml-1.5 text-xs font-normal text-ink3">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
