import { Boundary } from '@/components/page';
import { texts } from '@/lib/texts';
import { OverviewPage } from './overview-page';

export function OverviewRoute() {
  return (
    <Boundary title={texts.overview.title}>
      <OverviewPage />
    </Boundary>
  );
}
