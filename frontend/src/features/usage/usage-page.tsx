import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ChartColumn, X } from 'lucide-react';
import { Button, buttonClasses } from '@/components/button';
import { DateTimeField } from '@/components/date-time-field';
import { Empty, PageHeader } from '@/components/page';
import { escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Range, Span } from '@/lib/time-range';
import { type UsageFilters, usageQuery, useUsualRange } from './api';
import { Breakdown } from './breakdown';
import { Card } from './card';
import { ContextCost, type ToolCost, Unused } from './context-cost';
import { RangePicker } from './range-picker';
import { SessionCosts } from './session-costs';
import { CallsChart, DurationChart, noCalls, slotText } from './usage-charts';
import { Figures } from './usage-totals';

const route = getRouteApi('/usage');

export function UsagePage({ costs }: { costs: ToolCost[] }) {
  const labelOf = useServerName();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { server, tool, client, from, to } = search;
  const usual = useUsualRange();
  const own = from !== undefined || to !== undefined;
  const range: Range | undefined = own ? undefined : (search.range ?? usual);
  const filters: UsageFilters = { range, ...inOrder(from, to), server, tool, client };
  const { data: report } = useSuspenseQuery(usageQuery(filters));
  const change = (change: UsageFilters) =>
    navigate({ to: '.', search: (old) => ({ ...old, ...change }), replace: true });
  const { total } = report;
  // A longer range is offered if the selected one has no calls.
  const { data: month } = useQuery({
    ...usageQuery({ range: '30d', server, tool, client }, 60_000),
    enabled: total.calls === 0,
  });
  const longer = range !== '30d' && month !== undefined && month.total.calls > 0;
  return (
    <>
      <PageHeader title={texts.usage.title}>
        {server && (
          <Chip
            text={labelOf(server)}
            onClick={() => change({ server: undefined, tool: undefined })}
          />
        )}
        {tool && <Chip text={tool} onClick={() => change({ tool: undefined })} />}
        {client && <Chip text={client} onClick={() => change({ client: undefined })} />}
        <RangePicker range={range} report={report} onChange={change} />
      </PageHeader>
      {own && (
        <div className="flex flex-wrap gap-2 px-4 pb-2 md:px-6">
          <DateTimeField
            label="From"
            value={from}
            onChange={(from) => change({ from, range: undefined })}
          />
          <DateTimeField
            label="To"
            value={to}
            onChange={(to) => change({ to, range: undefined })}
          />
        </div>
      )}
      <div className="scroll-area scroll-edge min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="max-w-page space-y-6">
          {total.calls === 0 ? (
            <Empty icon={ChartColumn} title={noCalls}>
              <p>
                {longer || own
                  ? 'Choose a longer period.'
                  : 'Calls are counted here as soon as a client makes them.'}
              </p>
              {longer && (
                <Button
                  className="mt-4"
                  onClick={() => change({ range: '30d', from: undefined, to: undefined })}
                >
                  Show 30 days
                </Button>
              )}
              {!longer && !own && (
                <p className="mt-4">
                  <Link to="/clients" className={buttonClasses('primary')}>
                    {texts.actions.connectClient}
                  </Link>
                </p>
              )}
            </Empty>
          ) : (
            <>
              <Figures total={total} />
              <div className="grid gap-4 lg:grid-cols-2">
                <Card title="Calls and errors" note={slotText(report)}>
                  <CallsChart report={report} filters={filters} />
                </Card>
                <Card title="Latency" note="logarithmic">
                  <DurationChart report={report} filters={filters} />
                </Card>
              </div>
              <Breakdown
                report={{ servers: report.servers, tools: report.tools, clients: report.clients }}
                onPick={change}
              />
            </>
          )}
          <SessionCosts client={client} />
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <ContextCost costs={costs} />
            <Unused costs={costs} />
          </div>
        </div>
      </div>
    </>
  );
}

/** While the user edits one of them, the end can be before the start. */
function inOrder(from: string | undefined, to: string | undefined): Span {
  return from && to && from > to ? { from: to, to: from } : { from, to };
}

function Chip({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <Button onClick={onClick} title="Remove this filter">
      <span className="max-w-48 truncate">{escapeControlCharacters(text.slice(0, 100))}</span>
      <X className="size-3.5" aria-hidden />
    </Button>
  );
}
