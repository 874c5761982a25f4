import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Menu, Search } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { Logo } from '@/components/logo';
import { PageViews } from '@/components/page';
import { stateTone } from '@/components/state-badge';
import { serversQuery, useServerLabel } from '@/features/servers/api';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { approvalsQuery } from '@/lib/approvals-query';
import { classes } from '@/lib/class-names';
import { ServerNames } from '@/lib/server-lookup';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { Banners } from './banners';
import { ConnectionMark } from './connection-mark';
import { NavigationPages, PlacesSheet, pagesLabel } from './navigation';
import { type NavigationPage, navigationPages, pageAt, viewsOf } from './navigation-pages';
import { NoticesBell } from './notices-bell';
import { paletteLabel, Shortcuts } from './shortcuts';
import { UnsavedChangesDialog } from './unsaved-changes-dialog';

const bar = navigationPages.filter((page) => page.bar);
const barItem =
  'relative flex min-w-0 flex-col items-center gap-0.5 py-1.5 text-2xs outline-offset-[-2px]';
const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

const countFailed = (servers: ServerStatus[]) =>
  servers.filter(({ state }) => stateTone(state) === 'bad').length;

/** The page frame: the navigation is at the side on wide screens, at the bottom on narrow ones. */
export function Shell() {
  const [palette, setPalette] = useState(false);
  const [more, setMore] = useState(false);
  const approvalsKnown = useQuery(approvalsQuery);
  const approvals = approvalsKnown.data;
  const ready = useAllQueriesAnswered([approvalsKnown, useQuery(statusQuery)]);
  const waiting = approvals?.length ?? 0;
  const { data: failed = 0 } = useQuery({ ...serversQuery, select: countFailed });
  const { busy, at } = useRouterState({
    select: (state) => ({ busy: state.isLoading, at: state.resolvedLocation?.pathname }),
    structuralSharing: true,
  });
  const page = usePage(waiting);
  const place = page?.of ?? page?.to;
  const views = useMemo(() => ({ at: page?.to, views: viewsOf(page) }), [page]);
  const beyond = place !== undefined && !bar.some(({ to }) => to === place);
  return (
    <div className="flex h-full flex-col md:flex-row">
      {/* A button, not a link: the router uses the fragment of the URL. */}
      <button
        type="button"
        onClick={() => document.getElementById('main')?.focus()}
        className="absolute top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-1.5 text-sm text-on-accent transition-none focus:translate-y-0"
      >
        Skip to content
      </button>
      <header className="flex shrink-0 items-center gap-2.5 border-b px-4 py-2.5 md:hidden">
        <Logo className="size-6" />
        <span className="font-semibold tracking-tight">{texts.product}</span>
        <span className="ml-auto flex items-center gap-3">
          <NoticesBell />
          <ConnectionMark />
          <button
            type="button"
            aria-label={paletteLabel}
            onClick={() => setPalette(true)}
            className="rounded-md p-1 text-ink2 hover:bg-hover"
          >
            <Search className="size-5" aria-hidden />
          </button>
        </span>
      </header>
      <aside className="hidden w-52 shrink-0 flex-col border-r px-3 pt-4 pb-3 md:flex">
        <div className="mb-3 flex items-center gap-2.5 px-2">
          <Logo className="size-7" />
          <span className="text-base font-semibold tracking-tight">{texts.product}</span>
        </div>
        <button
          type="button"
          title={paletteLabel}
          aria-keyshortcuts="Control+K"
          onClick={() => setPalette(true)}
          className="mb-3 flex items-center gap-2 rounded-md border bg-panel px-2 py-1 text-sm text-ink3 hover:border-strong hover:text-ink2"
        >
          <Search className="size-3.5 shrink-0" aria-hidden />
          Search
          <kbd aria-hidden className="ml-auto font-sans text-2xs">
            {mod} K
          </kbd>
        </button>
        <nav
          aria-label={pagesLabel}
          className="scroll-area -mx-1 flex min-h-0 flex-1 flex-col px-1"
        >
          <NavigationPages at={place} waiting={waiting} failed={failed} />
        </nav>
        <div className="flex min-h-9 items-center justify-between px-2 pt-3">
          <ConnectionMark />
          <NoticesBell />
        </div>
      </aside>
      <Shortcuts palette={palette} onPalette={setPalette} />
      <main
        id="main"
        tabIndex={-1}
        aria-busy={busy}
        data-at={at}
        className="flex min-h-0 min-w-0 flex-1 flex-col outline-none"
      >
        <Banners />
        {/* Invisible until the data of the banners is loaded: they would shift the layout. */}
        <div className={classes('flex min-h-0 min-w-0 flex-1 flex-col', !ready && 'opacity-0')}>
          <ServerNames value={useServerLabel()}>
            <PageViews value={views}>
              <Outlet />
            </PageViews>
          </ServerNames>
        </div>
      </main>
      <nav
        aria-label={pagesLabel}
        className="grid shrink-0 grid-cols-5 border-t bg-panel pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {bar.map(({ to, text, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: true }}
            aria-current={to === place ? 'page' : undefined}
            className={classes(
              barItem,
              'text-ink2 aria-[current=page]:font-medium aria-[current=page]:text-accent',
            )}
          >
            <Icon className="size-5 shrink-0" aria-hidden />
            <span className="max-w-full truncate px-0.5">{text}</span>
            {to === '/servers' && failed > 0 && (
              <span
                aria-hidden
                className="absolute top-0.5 left-1/2 ml-2.5 rounded-full bg-bad-soft px-1.5 text-2xs font-semibold text-bad"
              >
                {failed > 99 ? '99+' : failed}
              </span>
            )}
          </Link>
        ))}
        <button
          type="button"
          aria-haspopup="dialog"
          onClick={() => setMore(true)}
          className={classes(barItem, beyond ? 'font-medium text-accent' : 'text-ink2')}
        >
          <Menu className="size-5 shrink-0" aria-hidden />
          More
          {waiting > 0 && (
            <span className="absolute top-0.5 left-1/2 ml-2.5 rounded-full bg-warn-soft px-1.5 text-2xs font-semibold text-warn">
              {waiting > 99 ? '99+' : waiting}
            </span>
          )}
        </button>
      </nav>
      {more && (
        <PlacesSheet at={place} waiting={waiting} failed={failed} onClose={() => setMore(false)} />
      )}
      <UnsavedChangesDialog />
    </div>
  );
}

/** The requested page, which may still be loading; the title of the tab counts what waits. */
function usePage(waiting: number): NavigationPage | undefined {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const page = pageAt(path);
  useEffect(() => {
    const title = `${page?.text ?? 'Page not found'} · ${texts.product}`;
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [page, waiting]);
  return page;
}
