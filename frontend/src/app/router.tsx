import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { loadChart } from '@/components/lazy-chart';
import { loadCode } from '@/components/lazy-code-editor';
import { type CallFilters, callFilters } from '@/features/calls/filters';
import { kinds, listFilters } from '@/features/directory/server-labels';
import {
  orderOf,
  type ServerFilters,
  stateFilterOf,
  type View,
  views,
} from '@/features/servers/server-page-views';
import { type Order, orders } from '@/features/tools/groups';
import { lazyChunk } from '@/lib/lazy-chunk';
import { type Range, type Span, spanOf } from '@/lib/time-range';
import { Broken, NotFound, Pending } from './fallback-pages';
import { OverviewRoute } from './overview-route';
import { Shell } from './shell';
import { loadPalette } from './shortcuts';

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== ''
    ? value
    : typeof value === 'number'
      ? String(value)
      : undefined;

/** Pages that are not part of the first load. */
const lazy = {
  servers: lazyChunk(() => import('./servers-route')),
  update: lazyChunk(() => import('./update-route')),
  calls: lazyChunk(() => import('./calls-route')),
  add: lazyChunk(() => import('./add-server-route')),
  tools: lazyChunk(() => import('./tools-route')),
  approvals: lazyChunk(() => import('./approvals-route')),
  sessions: lazyChunk(() => import('./sessions-route')),
  usage: lazyChunk(() => import('./usage-route')),
  directory: lazyChunk(() => import('./directory-route')),
  welcome: lazyChunk(() => import('./welcome-route')),
  clients: lazyChunk(() => import('./clients-route')),
  profiles: lazyChunk(() => import('./profiles-route')),
  settings: lazyChunk(() => import('./settings-route')),
};

/**
 * Preloads all pages when the page is idle: a page that is opened while the daemon is unavailable
 * could not be loaded.
 */
export async function loadPages(): Promise<void> {
  const loaders = [...Object.values(lazy), loadChart, loadCode, loadPalette];
  await Promise.allSettled(loaders.map((load) => load()));
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { range?: Range } => ({
    range: spanOf(search).range,
  }),
  component: OverviewRoute,
});

const servers = createRoute({
  getParentRoute: () => root,
  path: '/servers',
  validateSearch: (
    search: Record<string, unknown>,
  ): ServerFilters & { view?: View; tool?: string } => ({
    q: text(search.q),
    tag: text(search.tag),
    state: stateFilterOf(search.state),
    sort: orderOf(search.sort),
    tool: text(search.tool),
    view: views.find((view) => view === search.view),
  }),
  component: lazyRouteComponent(lazy.servers, 'ServersRoute'),
});
const server = createRoute({ getParentRoute: () => servers, path: '$id' });

const update = createRoute({
  getParentRoute: () => root,
  path: '/servers/$id/update',
  component: lazyRouteComponent(lazy.update, 'UpdateRoute'),
});

const add = createRoute({
  getParentRoute: () => root,
  path: '/add',
  validateSearch: (
    search: Record<string, unknown>,
  ): { like?: string; name?: string; config?: string } => ({
    like: text(search.like),
    name: text(search.name),
    config: text(search.config),
  }),
  component: lazyRouteComponent(lazy.add, 'AddRoute'),
});

const calls = createRoute({
  getParentRoute: () => root,
  path: '/calls',
  validateSearch: (
    search: Record<string, unknown>,
  ): CallFilters & { with?: string; sort?: string } => ({
    ...callFilters(search),
    with: text(search.with),
    sort: text(search.sort),
  }),
  component: lazyRouteComponent(lazy.calls, 'CallsRoute'),
});
const call = createRoute({ getParentRoute: () => calls, path: '$id' });

const tools = createRoute({
  getParentRoute: () => root,
  path: '/tools',
  validateSearch: (
    search: Record<string, unknown>,
  ): { q?: string; server?: string; tool?: string; group?: Order; from?: string } => ({
    q: text(search.q),
    server: text(search.server),
    tool: text(search.tool),
    group: orders.find((order) => order === search.group),
    from: text(search.from),
  }),
  component: lazyRouteComponent(lazy.tools, 'ToolsRoute'),
});

const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  component: lazyRouteComponent(lazy.approvals, 'ApprovalsRoute'),
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyRouteComponent(lazy.sessions, 'SessionsRoute'),
});
const session = createRoute({ getParentRoute: () => sessions, path: '$session' });

const usage = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  validateSearch: (
    search: Record<string, unknown>,
  ): Span & { server?: string; tool?: string; client?: string } => ({
    ...spanOf(search),
    server: text(search.server),
    tool: text(search.tool),
    client: text(search.client),
  }),
  component: lazyRouteComponent(lazy.usage, 'UsageRoute'),
});

const directory = createRoute({
  getParentRoute: () => root,
  path: '/directory',
  validateSearch: (
    search: Record<string, unknown>,
  ): { q?: string; kind?: string; only?: string; name?: string; file?: string } => ({
    q: text(search.q),
    kind: kinds.find((kind) => kind === search.kind),
    only: listFilters.find((only) => only === search.only),
    name: text(search.name),
    file: text(search.file),
  }),
  component: lazyRouteComponent(lazy.directory, 'DirectoryRoute'),
});

const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  validateSearch: (search: Record<string, unknown>): { step?: string } => ({
    step: text(search.step),
  }),
  component: lazyRouteComponent(lazy.welcome, 'WelcomeRoute'),
});

const clients = createRoute({
  getParentRoute: () => root,
  path: '/clients',
  validateSearch: (search: Record<string, unknown>): { connect?: string; disconnect?: string } => ({
    connect: text(search.connect),
    disconnect: text(search.disconnect),
  }),
  component: lazyRouteComponent(lazy.clients, 'ClientsRoute'),
});

const profiles = createRoute({
  getParentRoute: () => root,
  path: '/profiles',
  validateSearch: (search: Record<string, unknown>): { make?: string } => ({
    make: text(search.make),
  }),
  component: lazyRouteComponent(lazy.profiles, 'ProfilesRoute'),
});
const profile = createRoute({ getParentRoute: () => profiles, path: '$name' });

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(lazy.settings, 'SettingsRoute'),
});

const configuration = createRoute({
  getParentRoute: () => root,
  path: '/configuration',
  component: lazyRouteComponent(lazy.settings, 'ConfigurationRoute'),
});

/** Hash history, because the daemon serves only one page; the fragment also holds the one-time code. */
export function makeRouter() {
  return createRouter({
    routeTree: root.addChildren([
      overview,
      servers.addChildren([server]),
      update,
      add,
      calls.addChildren([call]),
      tools,
      approvals,
      sessions.addChildren([session]),
      usage,
      directory,
      welcome,
      clients,
      profiles.addChildren([profile]),
      settings,
      configuration,
    ]),
    history: createHashHistory(),
    defaultPreload: 'intent',
    defaultPendingComponent: Pending,
    defaultErrorComponent: Broken,
    // Search parameters stay strings: an ID of digits must not become a number.
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch: (search) => {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(search)) {
        if (value !== undefined && value !== '') query.set(name, String(value));
      }
      const out = query.toString();
      return out ? `?${out}` : '';
    },
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
