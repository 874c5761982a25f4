import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { DetailBoundary, Split } from '@/components/split-view';
import { CallDetail } from '@/features/calls/call-detail';
import { CallsPage } from '@/features/calls/calls-page';
import { toolsQuery } from '@/features/tools/api';
import { effects } from '@/features/tools/schema';
import { CallHistogram } from '@/features/usage/usage-charts';
import type { Call } from '@/types/api';
import { CallRemedy } from './call-remedy';
import { MakeRuleButton } from './make-rule';

export function CallsRoute() {
  const { id } = useParams({ strict: false });
  const toolOf = useToolLookup();
  const navigate = getRouteApi('/calls').useNavigate();
  const close = useCallback(() => navigate({ to: '/calls', search: (old) => old }), [navigate]);
  return (
    <Split
      list={
        <CallsPage selected={id} histogram={(filters) => <CallHistogram filters={filters} />} />
      }
      detail={
        id ? (
          <DetailBoundary key={id} id={id} title="Call" onClose={close}>
            <CallDetail
              id={id}
              toolOf={toolOf}
              remedy={(call) => <CallRemedy call={call} />}
              makeRule={(call) => <MakeRuleButton key={call.id} id={call.id} />}
              onClose={close}
            />
          </DetailBoundary>
        ) : null
      }
    />
  );
}

/**
 * The current public name of a call's tool, which differs from the called name at the endpoint of
 * a single server, and whether the server declares the tool as read-only.
 */
function useToolLookup(): (call: Call) => { name: string; readOnly: boolean } {
  const { data: tools } = useQuery(toolsQuery);
  return useCallback(
    (call) => {
      const tool =
        tools?.find((one) => one.server === call.server && one.tool === call.tool) ??
        tools?.find((one) => one.name === call.publicName);
      return {
        name: tool?.name ?? call.publicName,
        readOnly: tool !== undefined && effects(tool.annotations).readOnly,
      };
    },
    [tools],
  );
}
