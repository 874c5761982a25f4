import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Logo } from '@/components/logo';
import { questionsQuery } from '@/features/questions/api';
import { classes } from '@/lib/classes';
import { texts } from '@/lib/texts';
import { Banners } from './banners';
import { ConnectionMark } from './connection-mark';
import { pages } from './places';
import { Shortcuts } from './shortcuts';

const main = pages.filter((page) => !page.aside);

/** The frame: pages at the side on wide screens, at the bottom on narrow ones. */
export function Shell() {
  useTitle();
  const { data: questions } = useQuery(questionsQuery);
  const waiting = questions?.length ?? 0;
  const { busy, at } = useRouterState({
    select: (state) => ({ busy: state.isLoading, at: state.resolvedLocation?.pathname }),
    structuralSharing: true,
  });
  return (
    <div className="flex h-full flex-col md:flex-row">
      {/* A button, because the fragment of the address belongs to the router. */}
      <button
        type="button"
        onClick={() => document.getElementById('main')?.focus()}
        className="absolute top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-1.5 text-sm text-on-accent focus:translate-y-0"
      >
        {texts.nav.skip}
      </button>
      <header className="flex shrink-0 items-center gap-2.5 border-b px-4 py-2.5 md:hidden">
        <Logo className="size-6" />
        <span className="font-semibold tracking-tight">{texts.product}</span>
        <span className="ml-auto flex items-center gap-3">
          <ConnectionMark />
          {main
            .filter((page) => page.wide)
            .map(({ to, text, icon: Icon }) => (
              <Link
                key={to}
                to={to}
                aria-label={text}
                activeOptions={{ includeSearch: false }}
                className="rounded-md p-1 text-ink2 aria-[current=page]:text-accent"
              >
                <Icon className="size-5" aria-hidden />
              </Link>
            ))}
        </span>
      </header>
      <aside className="hidden w-52 shrink-0 flex-col border-r px-3 pt-4 pb-3 md:flex">
        <div className="mb-5 flex items-center gap-2.5 px-2">
          <Logo className="size-7" />
          <span className="text-base font-semibold tracking-tight">{texts.product}</span>
        </div>
        <nav aria-label={texts.nav.label} className="flex flex-col gap-0.5">
          {main.map(({ to, text, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === '/', includeSearch: false }}
              className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-ink2 hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
            >
              <Icon className="size-4 shrink-0" aria-hidden />
              {text}
              {to === '/questions' && waiting > 0 && (
                <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-xs font-semibold text-warn">
                  {waiting}
                </span>
              )}
            </Link>
          ))}
        </nav>
        <div className="mt-auto flex items-center px-2 pt-3">
          <ConnectionMark />
          <kbd className="ml-auto text-xs text-ink3" title={texts.shortcuts.palette}>
            Ctrl K
          </kbd>
        </div>
      </aside>
      <Shortcuts />
      <main
        id="main"
        tabIndex={-1}
        aria-busy={busy}
        data-at={at}
        className="flex min-h-0 min-w-0 flex-1 flex-col outline-none"
      >
        <Banners />
        <Outlet />
      </main>
      <nav
        aria-label={texts.nav.label}
        className="grid shrink-0 grid-cols-6 border-t bg-panel pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {main
          .filter((page) => !page.wide)
          .map(({ to, text, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === '/', includeSearch: false }}
              className={classes(
                'flex min-w-0 flex-col items-center gap-0.5 py-1.5 text-2xs text-ink2 outline-offset-[-2px]',
                'aria-[current=page]:font-medium aria-[current=page]:text-accent',
              )}
            >
              <Icon className="size-5 shrink-0" aria-hidden />
              <span className="max-w-full truncate px-0.5">{text}</span>
            </Link>
          ))}
      </nav>
    </div>
  );
}

function useTitle(): void {
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    const page = pages.find(({ to }) => to !== '/' && path.startsWith(to));
    document.title = `${page?.text ?? texts.nav.overview} · ${texts.product}`;
  }, [path]);
}
