import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ChartSpace } from '@/components/lazy-chart';
import { SegmentedControl } from '@/components/segmented-control';
import { ServerPrefix } from '@/components/server-prefix';
import { count, duration, escapeControlCharacters } from '@/lib/format';
import { measureFontScale } from '@/lib/measure-font-scale';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Range } from '@/lib/time-range';
import type { UsageReport } from '@/types/api';
import { Card } from './card';
import type { ToolCost } from './context-cost';
import { errorsText } from './tool-use';
import { CallsChart, DurationChart, noCalls, slotText } from './usage-charts';

const ordersTexts = withoutPrototypes({
  calls: 'Calls',
  time: 'Time',
  context: 'Context',
} as const);

const rows = 10;

/**
 * An overview of a range: calls and errors, latency, and the top tools. Its size is the same while
 * the report loads, to avoid a layout shift.
 */
export function AtAGlance({
  report,
  range,
  costs,
}: {
  report: UsageReport | undefined;
  range: Range;
  costs: Pick<ToolCost, 'server' | 'tool' | 'tokens'>[];
}) {
  const height = 204 * measureFontScale(); // with the line below a chart, the height of the list
  const empty = report?.total.calls === 0 ? noCalls : undefined;
  return (
    <div className="grid gap-4 lg:grid-cols-2 xl:grid-cols-3">
      <Card title="Calls and errors" note={report && slotText(report)}>
        {report ? (
          <CallsChart report={report} height={height} empty={empty} />
        ) : (
          <ChartSpace height={height} />
        )}
      </Card>
      <Card title="Latency" note="logarithmic">
        {report ? (
          <DurationChart brief report={report} height={height} empty={empty} />
        ) : (
          <ChartSpace height={height} />
        )}
      </Card>
      <TopTools report={report} range={range} costs={costs} />
    </div>
  );
}

const orders = ['calls', 'time', 'context'] as const;
type Order = (typeof orders)[number];

interface Top {
  server: string;
  tool: string;
  amount: number;
  errors: number;
}

function topOf(
  order: Order,
  report: UsageReport | undefined,
  costs: Pick<ToolCost, 'server' | 'tool' | 'tokens'>[],
): Top[] {
  const list =
    order === 'context'
      ? costs.map(({ server, tool, tokens }) => ({ server, tool, amount: tokens, errors: 0 }))
      : (report?.tools ?? []).map(({ server = '', tool = '', calls, errors, meanNs }) => ({
          server,
          tool,
          amount: order === 'calls' ? calls : calls * meanNs,
          errors: order === 'calls' ? errors : 0,
        }));
  return list.sort((a, b) => b.amount - a.amount).slice(0, rows);
}

const units: Record<Order, (amount: number) => string> = {
  calls: count,
  time: duration,
  context: (tokens) => texts.tools.tokens(count(tokens)),
};

/** The top tools by number of calls, time, or tokens in a model's context. */
function TopTools({
  report,
  range,
  costs,
}: {
  report: UsageReport | undefined;
  range: Range;
  costs: Pick<ToolCost, 'server' | 'tool' | 'tokens'>[];
}) {
  const labelOf = useServerName();
  const [order, setOrder] = useState<Order>('calls');
  const list = topOf(order, report, costs);
  return (
    <Card
      title="Top tools"
      className="lg:max-xl:col-span-2"
      aside={
        <SegmentedControl
          label="Top tools by"
          value={order}
          options={orders.map((value) => ({ value, text: ordersTexts[value] }))}
          onChange={setOrder}
        />
      }
    >
      {/* The height of the longest possible list: beside the charts, a lower one would save no space. */}
      <ul className="min-h-[16rem] text-sm max-xl:min-h-0" data-loading={report ? undefined : ''}>
        {report && list.length === 0 && <li className="text-ink3">No calls yet.</li>}
        {list.map(({ server, tool, amount, errors }) => (
          <li key={`${server}/${tool}`} className="flex items-baseline gap-3">
            <Link
              to={order === 'context' ? '/usage' : '/calls'}
              search={order === 'context' ? { server, tool } : { server, tool, range }}
              title={escapeControlCharacters(`${labelOf(server)} / ${tool}`.slice(0, 300))}
              className="min-w-0 flex-1 truncate py-[2.5px] underline-offset-2 hover:underline"
            >
              <ServerPrefix label={labelOf(server)} />
              {escapeControlCharacters(tool.slice(0, 120))}
            </Link>
            {errors > 0 && (
              <span className="shrink-0 text-xs text-bad">{errorsText(count(errors))}</span>
            )}
            <span className="min-w-10 shrink-0 text-right tabular-nums">
              {units[order](amount)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
