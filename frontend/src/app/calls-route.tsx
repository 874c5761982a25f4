import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Boundary } from '@/components/page';
import { Split } from '@/components/split';
import { CallDetail } from '@/features/calls/call-detail';
import { CallsPage } from '@/features/calls/calls-page';
import { useServerLabel } from '@/features/servers/api';
import { toolsQuery } from '@/features/tools/api';
import { effects } from '@/features/tools/schema';
import { useConnection } from '@/lib/connection';
import { Remedy } from './remedy';
import { SaveCheckButton } from './save-check';

export function CallsRoute() {
  const { epoch } = useConnection();
  const { id } = useParams({ strict: false });
  const labelOf = useServerLabel();
  const isReadOnly = useIsReadOnly();
  const navigate = getRouteApi('/calls').useNavigate();
  const close = useCallback(() => navigate({ to: '/calls', search: (old) => old }), [navigate]);
  return (
    <Split
      list={<CallsPage selected={id} labelOf={labelOf} epoch={epoch} />}
      detail={
        id ? (
          <Boundary key={id} epoch={epoch}>
            <CallDetail
              id={id}
              labelOf={labelOf}
              isReadOnly={isReadOnly}
              remedy={(call) => <Remedy call={call} />}
              saveCheck={(call) => <SaveCheckButton key={call.id} id={call.id} />}
              onClose={close}
            />
          </Boundary>
        ) : null
      }
    />
  );
}

/** Whether a tool says of itself that it changes nothing; false of one that is not offered now. */
function useIsReadOnly(): (publicName: string) => boolean {
  const { data: tools } = useQuery(toolsQuery);
  return useCallback(
    (publicName) => {
      const tool = tools?.find((one) => one.name === publicName);
      return tool !== undefined && effects(tool.annotations).readOnly;
    },
    [tools],
  );
}
