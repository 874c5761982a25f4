import { Link } from '@tanstack/react-router';
import { MapPinOff } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { Boundary, Empty } from '@/components/page';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';
import { OverviewPage } from './overview-page';

export function OverviewRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch}>
      <OverviewPage />
    </Boundary>
  );
}

export function NotFound() {
  return (
    <Empty icon={MapPinOff} title={texts.errors.notFound} heading="h1">
      <p>{texts.errors.notFoundBody}</p>
      <Link to="/" className={`mt-4 ${buttonClasses('primary')}`}>
        {texts.errors.home}
      </Link>
    </Empty>
  );
}
