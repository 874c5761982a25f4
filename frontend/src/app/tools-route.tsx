import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { Boundary } from '@/components/page';
import { DetailBoundary, Split } from '@/components/split-view';
import { callQueryOptions } from '@/features/calls/api';
import { clientsQuery } from '@/features/clients/api';
import { ExplainDecision } from '@/features/policy/explain-decision';
import { hiddenToolsQuery } from '@/features/profiles/api';
import { HideTools, ShowTool, ShowTools } from '@/features/profiles/hide-tools';
import { OfferTool } from '@/features/servers/server-tools';
import { ToolAnnotations } from '@/features/servers/tool-annotation-overrides';
import { tokenCost } from '@/features/tools/groups';
import { ToolDetail } from '@/features/tools/tool-detail';
import { ToolsPage } from '@/features/tools/tools-page';
import { TrustBadges, TrustSection } from '@/features/trust/trust-badges';
import { ToolUse } from '@/features/usage/tool-use';
import { escapeControlCharacters } from '@/lib/format';
import type { Tool } from '@/types/api';
import { useCostedTools } from './tool-context-costs';

const route = getRouteApi('/tools');

export function ToolsRoute() {
  const { tool, from } = route.useSearch();
  const navigate = route.useNavigate();
  const { tools: costed, calls } = useCostedTools();
  const { data: hidden } = useQuery(hiddenToolsQuery);
  const { data: clients } = useQuery(clientsQuery);
  const tokens = [...new Set((clients ?? []).map((c) => c.token).filter(Boolean))];
  const extra = (tool: Tool) => (
    <>
      <TrustSection server={tool.server} tool={tool.tool} />
      <OfferTool key={`offer ${tool.name}`} server={tool.server} tool={tool.tool} />
      <ToolAnnotations key={`about ${tool.name}`} server={tool.server} tool={tool.tool} />
      <ToolUse key={`use ${tool.name}`} server={tool.server} tool={tool.tool} />
      <ExplainDecision key={tool.name} server={tool.server} tool={tool.tool} clients={tokens} />
    </>
  );
  const away = hidden?.find((one) => tool === one.tool || tool === `${one.server}__${one.tool}`);
  const shown = { extra, hidden: away && <ShowTool tool={away} /> };
  const close = useCallback(
    () => navigate({ search: (old) => ({ ...old, tool: undefined, from: undefined }) }),
    [navigate],
  );
  return (
    <Split
      list={
        <Boundary title="Tools">
          <ToolsPage
            above={(listed) => (
              <HideTools
                unused={costed.filter((tool) => tool.unused)}
                listed={listed.map((tool) => ({
                  server: tool.server,
                  tool: tool.tool,
                  tokens: tokenCost(tool),
                  calls: calls && (calls.get(`${tool.server}/${tool.tool}`) ?? 0),
                }))}
              />
            )}
            hidden={hidden}
            show={(tools) => <ShowTools tools={tools} />}
            calls={calls}
            mark={(tool) => <TrustBadges server={tool.server} tool={tool.tool} />}
          />
        </Boundary>
      }
      detail={
        tool ? (
          <DetailBoundary
            key={`${tool} ${from}`}
            id={tool}
            title={escapeControlCharacters(tool.slice(0, 200))}
            onClose={close}
          >
            {from ? (
              <Replay name={tool} from={from} {...shown} onClose={close} />
            ) : (
              <ToolDetail name={tool} {...shown} onClose={close} />
            )}
          </DetailBoundary>
        ) : null
      }
    />
  );
}

/** A tool with the arguments of a recorded call, to edit and send again. */
function Replay({
  from,
  ...rest
}: {
  name: string;
  from: string;
  extra: (tool: Tool) => ReactNode;
  hidden: ReactNode;
  onClose: () => void;
}) {
  const { data: call } = useSuspenseQuery(callQueryOptions(from));
  return <ToolDetail {...rest} begin={call.arguments} />;
}
