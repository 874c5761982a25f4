import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { Split } from '@/components/split';
import { serversQuery } from '@/features/servers/api';
import { ToolDetail } from '@/features/tools/tool-detail';
import { ToolsPage } from '@/features/tools/tools-page';
import { useConnection } from '@/lib/connection';

const route = getRouteApi('/tools');

export function ToolsRoute() {
  const { epoch } = useConnection();
  const { tool } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: servers } = useQuery(serversQuery);
  const labelOf = useCallback(
    (id: string) => servers?.find((server) => server.id === id)?.label || id,
    [servers],
  );
  const close = useCallback(
    () => navigate({ search: (old) => ({ ...old, tool: undefined }) }),
    [navigate],
  );
  return (
    <Split
      list={
        <Boundary epoch={epoch}>
          <ToolsPage labelOf={labelOf} />
        </Boundary>
      }
      detail={
        tool ? (
          <Boundary key={tool} epoch={epoch}>
            <ToolDetail name={tool} labelOf={labelOf} onClose={close} />
          </Boundary>
        ) : null
      }
    />
  );
}
