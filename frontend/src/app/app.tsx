import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Tooltip } from 'radix-ui';
import { useEffect, useState } from 'react';
import { Toaster } from '@/components/toaster';
import { exchangeSignInCode } from '@/features/session/api';
import { LockedPage } from '@/features/session/locked-page';
import { ConnectionContext, useConnection } from '@/lib/connection';
import { EventStream } from '@/lib/event-stream';
import { isUnauthorized, RequestError } from '@/lib/request';
import { onSessionKey } from '@/lib/session-key';
import { applyEvents } from './apply-stream-events';
import { loadPages, makeRouter } from './router';

/** How long after the connection opens the other pages are loaded. */
const idleMs = 1000;

/** Creates the objects that exist for the lifetime of the page. */
export function makeApp() {
  // The session can expire while the event stream stays open: reopen the stream to check it.
  const onError = (error: unknown) => {
    if (isUnauthorized(error)) stream.reopen();
  };
  const queryClient: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        retry: (failures, error) =>
          failures < 3 &&
          !(error instanceof RequestError && error.status >= 400 && error.status < 500),
        retryDelay: (attempt) => Math.min(300 * 2 ** attempt, 3000),
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: 'always', // the daemon is on this machine, online or not
      },
      mutations: { networkMode: 'always' },
    },
  });
  const stream: EventStream = new EventStream({
    path: '/api/v1/events',
    // Retries queries that failed while the daemon was unreachable or the session was invalid.
    onOpen: () => {
      queryClient.resetQueries({ predicate: (query) => query.state.status === 'error' });
      setTimeout(loadPages, idleMs);
    },
    onEvents: (events) => applyEvents(queryClient, events),
  });
  return { queryClient, stream, router: makeRouter() };
}

export function App({
  app,
  spent: spentAtStart,
}: {
  app: ReturnType<typeof makeApp>;
  /** The page was opened with a one-time link that the daemon rejected. */
  spent: boolean;
}) {
  const { stream } = app;
  const [spent, setSpent] = useState(spentAtStart);
  useEffect(() => {
    stream.start();
    const stopWaiting = onSessionKey(stream.retryNow);
    const onHash = () => {
      if (!location.hash.includes('code=')) return;
      exchangeSignInCode(location, history).then((entered) => {
        setSpent(!entered);
        if (entered) stream.reopen();
      });
    };
    window.addEventListener('hashchange', onHash);
    return () => {
      stream.stop();
      stopWaiting();
      window.removeEventListener('hashchange', onHash);
    };
  }, [stream]);
  return (
    <QueryClientProvider client={app.queryClient}>
      <ConnectionContext value={stream}>
        <Tooltip.Provider delayDuration={400}>
          <Inside app={app} spent={spent} />
          <Toaster />
        </Tooltip.Provider>
      </ConnectionContext>
    </QueryClientProvider>
  );
}

function Inside({ app, spent }: { app: ReturnType<typeof makeApp>; spent: boolean }) {
  const { phase, epoch } = useConnection();
  if (phase === 'locked') return <LockedPage spent={spent} ended={epoch > 0} />;
  return <RouterProvider router={app.router} />;
}
