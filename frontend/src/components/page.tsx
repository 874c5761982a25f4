import { QueryErrorResetBoundary } from '@tanstack/react-query';
import { CatchBoundary, Link } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import { TriangleAlert } from 'lucide-react';
import { createContext, type ReactNode, Suspense, useContext, useEffect } from 'react';
import { Button } from '@/components/button';
import { classes } from '@/lib/class-names';
import { useConnection } from '@/lib/connection';
import { escapeControlCharacters, sentence } from '@/lib/format';
import { ChunkLoadError, reloadOnce } from '@/lib/lazy-chunk';
import { messageOf, RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { anyUnsaved } from '@/lib/unsaved-changes';

/**
 * A page's title line, as wide as the page's content. Controls to the right of the title move below
 * it on narrow screens; only `action`, the main action of the page, stays beside it.
 */
export function PageHeader({
  title,
  note,
  action,
  full = false,
  children,
}: {
  title: string;
  note?: ReactNode;
  action?: ReactNode;
  /** Whether the content uses the whole width. */
  full?: boolean;
  children?: ReactNode;
}) {
  return (
    <header className="@container shrink-0 px-4 pt-4 pb-3 md:px-6 md:pt-5">
      <div
        className={classes(
          'flex min-h-8 flex-wrap items-center gap-x-2 gap-y-2',
          !full && 'max-w-page',
        )}
      >
        <div
          className={classes(
            'mr-1 flex min-w-0 flex-wrap items-baseline gap-x-4 gap-y-1',
            Boolean(action) && '@max-2xl:flex-1 @max-2xl:basis-32', // its note wraps before the action does
          )}
        >
          <Title title={title} />
          {note && <span className="text-sm text-ink3">{note}</span>}
        </div>
        {action && <div className="ml-auto flex gap-2 @2xl:order-last @2xl:ml-0">{action}</div>}
        {(children || action) && (
          <div className="flex min-w-0 flex-wrap items-center gap-2 empty:hidden @max-2xl:w-full @2xl:ml-auto @2xl:flex-1 @2xl:justify-end @2xl:empty:block">
            {children}
          </div>
        )}
      </div>
    </header>
  );
}

/** The views of which the page is one, including itself; empty if it is the only one. */
export const PageViews = createContext<{
  at: string | undefined;
  views: { to: string; text: string }[];
}>({ at: undefined, views: [] });

/** The page's heading. If the page is itself one of several views, links to the others are beside it. */
function Title({ title }: { title: string }) {
  const { at, views } = useContext(PageViews);
  const heading = 'text-xl font-semibold tracking-tight';
  if (!views.some(({ to, text }) => to === at && text === title))
    return <h1 className={heading}>{title}</h1>;
  return (
    <nav aria-label="Views">
      <ul className="flex flex-wrap items-baseline gap-x-4">
        {views.map(({ to, text }) => (
          <li key={to}>
            {to === at ? (
              <h1 className={`${heading} border-b-2 border-accent`}>{title}</h1>
            ) : (
              <Link
                to={to}
                className="rounded-sm text-base text-ink3 underline-offset-4 hover:text-ink hover:underline"
              >
                {text}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}

/**
 * The loading and error states of a page or a part of it. A part that failed while the daemon was
 * unavailable is retried when it is back.
 */
export function Boundary({
  title,
  frame = (part) => (
    <>
      {title && <PageHeader title={title} />}
      {part}
    </>
  ),
  children,
}: {
  /** Shown with the content, while it loads, and if it cannot be loaded. */
  title?: string;
  /** Replaces the frame of the loading and the error state. */
  frame?: (part: ReactNode) => ReactNode;
  children: ReactNode;
}) {
  const { epoch } = useConnection(); // counts reconnections
  return (
    <QueryErrorResetBoundary>
      {({ reset }) => (
        <CatchBoundary
          getResetKey={() => epoch}
          onCatch={() => undefined}
          errorComponent={({ error, reset: retry }) =>
            frame(
              <div data-failed={title}>
                <Failed
                  error={error}
                  onRetry={() => {
                    reset();
                    retry();
                  }}
                />
              </div>,
            )
          }
        >
          <Suspense fallback={frame(<Loading />)}>{children}</Suspense>
        </CatchBoundary>
      )}
    </QueryErrorResetBoundary>
  );
}

export function Failed({
  error,
  onRetry,
  heading,
}: {
  error: unknown;
  onRetry?: () => void;
  heading?: 'h1' | 'h2';
}) {
  const { phase } = useConnection();
  // React keeps the failure of a lazy part, so only a reload helps.
  useEffect(() => {
    if (error instanceof ChunkLoadError && phase === 'live' && !anyUnsaved()) reloadOnce();
  }, [error, phase]);
  return (
    <Empty icon={TriangleAlert} title="Cannot show this page" tone="bad" heading={heading}>
      <p className="[overflow-wrap:anywhere]">{sentence(messageOf(error))}</p>
      {error instanceof Error && !(error instanceof RequestError) && (
        <p className="mt-1 font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
          {escapeControlCharacters(String(error.cause ?? error).slice(0, 500))}
        </p>
      )}
      {error instanceof ChunkLoadError ? (
        <Button className="mt-4" onClick={() => location.reload()}>
          Reload
        </Button>
      ) : (
        onRetry && (
          <Button className="mt-4" onClick={onRetry}>
            Try again
          </Button>
        )
      )}
    </Empty>
  );
}

const bars = ['w-3/5', 'w-4/5', 'w-2/5', 'w-3/4', 'w-1/2'];

/**
 * A skeleton of content, or a sentence while the daemon is gone. It appears after a short delay, so that a fast
 * response causes no flicker.
 */
export function Loading() {
  const { phase } = useConnection();
  if (phase === 'reconnecting')
    return (
      <p role="status" data-loading className="appear-late p-4 text-center text-ink2 md:p-6">
        Nothing to show while Drawbridge is not responding.
      </p>
    );
  return (
    <div
      role="status"
      aria-label={texts.loading}
      data-loading
      className="appear-late space-y-3 p-4 md:p-6"
    >
      {bars.map((width) => (
        <div key={width} className={classes('pulse-dot h-4 rounded bg-line', width)} />
      ))}
    </div>
  );
}

/** A page whose title is known and whose content is loading. */
export function LoadingPage({ title }: { title: string }) {
  return (
    <>
      <PageHeader title={title} />
      <Loading />
    </>
  );
}

/** An empty state that says what to do. */
export function Empty({
  icon: Icon,
  title,
  tone = 'calm',
  heading: Heading = 'h2',
  children,
}: {
  icon: LucideIcon;
  title: string;
  tone?: 'calm' | 'bad';
  /** h1 if it is the only content of the page. */
  heading?: 'h1' | 'h2';
  children?: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-xl flex-col items-center px-4 py-12 text-center">
      <div
        className={classes(
          'mb-4 flex size-12 items-center justify-center rounded-xl',
          tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-accent-soft text-accent',
        )}
      >
        <Icon className="size-6" aria-hidden />
      </div>
      <Heading className="text-lg font-semibold text-balance">{title}</Heading>
      {children && <div className="mt-1 w-full text-balance text-ink2">{children}</div>}
    </div>
  );
}
