import { Boundary } from '@/components/page';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';
import { OverviewPage } from './overview-page';

export function OverviewRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={texts.overview.title}>
      <OverviewPage />
    </Boundary>
  );
}
