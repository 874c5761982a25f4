import { type ErrorComponentProps, Link, useRouter, useRouterState } from '@tanstack/react-router';
import { MapPinOff } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { Empty, Failed, LoadingPage, PageHeader } from '@/components/page';
import { texts } from '@/lib/texts';
import { pageAt } from './navigation-pages';

export const goToOverview = 'Go to the overview';

/** Shown while the script of a page loads. */
export function Pending() {
  return <LoadingPage title={useTitleHere()} />;
}

/** A page that failed, for example because its script could not be loaded. Other pages still work. */
export function Broken({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <>
      <PageHeader title={useTitleHere()} />
      <Failed
        error={error}
        onRetry={() => {
          reset();
          router.invalidate();
        }}
      />
    </>
  );
}

function useTitleHere(): string {
  const path = useRouterState({ select: (state) => state.location.pathname });
  return pageAt(path)?.text ?? texts.product;
}

export function NotFound() {
  return (
    <Empty icon={MapPinOff} title="Page not found" heading="h1">
      <p>The link may be outdated.</p>
      <Link to="/" className={`mt-4 ${buttonClasses('primary')}`}>
        {goToOverview}
      </Link>
    </Empty>
  );
}
