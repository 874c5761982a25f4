import { Boundary } from '@/components/page';
import { OverviewPage } from './overview-page';

export function OverviewRoute() {
  return (
    <Boundary title="Overview">
      <OverviewPage />
    </Boundary>
  );
}
