import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChartSpace } from '@/components/chart';
import { count, cut, duration, plain } from '@/lib/format';
import { letterScale } from '@/lib/letter-scale';
import { texts } from '@/lib/texts';
import type { Use } from '@/types/api';
import { usageQuery } from './api';
import { CallsChart } from './usage-charts';

const t = texts.overview;
const rows = 5;

/**
 * A day at a glance: calls and errors over time, the busiest and the slowest tools. It is as
 * large before the report is there, so that nothing below it moves.
 */
export function DayAtAGlance({ labelOf }: { labelOf: (server: string) => string }) {
  const { data: report } = useQuery(usageQuery({ range: '24h' }));
  const slowest = report?.tools
    .filter((use) => use.calls >= 3)
    .sort((a, b) => b.p95Ns - a.p95Ns)
    .slice(0, rows);
  const height = 250 * letterScale();
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      <section
        aria-label={t.day}
        className="min-w-0 rounded-lg border bg-panel p-4 shadow-card lg:col-span-2"
      >
        <div className="mb-1 flex items-baseline justify-between gap-3">
          <h2 className="text-sm font-semibold">{t.day}</h2>
          <Link to="/usage" className="text-sm text-accent underline-offset-2 hover:underline">
            {texts.usage.title}
          </Link>
        </div>
        {report ? (
          <CallsChart
            report={report}
            height={height}
            empty={report.total.calls === 0 ? t.quiet : undefined}
          />
        ) : (
          <ChartSpace height={height} />
        )}
      </section>
      <section className="min-w-0 rounded-lg border bg-panel p-4 shadow-card" aria-label={t.tops}>
        <h2 className="mb-1.5 text-sm font-semibold">{t.busiest}</h2>
        <Tops
          list={report?.tools.slice(0, rows)}
          none={t.nothingYet}
          labelOf={labelOf}
          value={(use) => count(use.calls)}
          errors
        />
        <h2 className="mt-4 mb-1.5 text-sm font-semibold">
          {t.slowest} <span className="text-xs font-normal text-ink3">{t.slowestNote}</span>
        </h2>
        <Tops
          list={slowest}
          none={report?.tools.length ? t.tooFew : t.nothingYet}
          labelOf={labelOf}
          value={(use) => duration(use.p95Ns)}
        />
      </section>
    </div>
  );
}

function Tops({
  list,
  none,
  labelOf,
  value,
  errors = false,
}: {
  /** Undefined while it is not known. */
  list: Use[] | undefined;
  none: string;
  labelOf: (server: string) => string;
  value: (use: Use) => string;
  errors?: boolean;
}) {
  // Five lines, used or not: where the chart stands beside it there is nothing to save.
  const space = 'min-h-[7.25rem] text-sm';
  if (!list) return <div className={space} data-loading />;
  if (list.length === 0) return <p className={`${space} text-ink3 max-lg:min-h-0`}>{none}</p>;
  return (
    <ul className={`${space} max-lg:min-h-0`}>
      {list.map((use) => (
        <li key={`${use.server}/${use.tool}`} className="flex items-baseline gap-3 py-[1.5px]">
          <Link
            to="/usage"
            search={{ server: use.server, tool: use.tool }}
            title={plain(`${labelOf(use.server ?? '')} / ${use.tool ?? ''}`.slice(0, 300))}
            className="min-w-0 flex-1 truncate underline-offset-2 hover:underline"
          >
            <span className="text-ink3">{plain(cut(labelOf(use.server ?? ''), 24))} / </span>
            {plain((use.tool ?? '').slice(0, 120))}
          </Link>
          {errors && use.errors > 0 && (
            <span className="shrink-0 text-xs text-bad">
              {texts.sessions.failed(count(use.errors))}
            </span>
          )}
          <span className="min-w-10 shrink-0 text-right tabular-nums">{value(use)}</span>
        </li>
      ))}
    </ul>
  );
}
