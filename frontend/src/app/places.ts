import {
  Activity,
  ChartColumn,
  Layers,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MessageCircleQuestion,
  MonitorSmartphone,
  Plus,
  Route,
  Server,
  Settings,
  Sparkles,
  Store,
  Wrench,
} from 'lucide-react';
import { texts } from '@/lib/texts';

type Path =
  | '/'
  | '/servers'
  | '/calls'
  | '/tools'
  | '/clients'
  | '/settings'
  | '/questions'
  | '/usage'
  | '/checks'
  | '/directory'
  | '/profiles'
  | '/sessions'
  | '/welcome'
  | '/add';

/** What belongs together in the navigation, in its order; what the user needs daily has no heading. */
export const groups = ['daily', 'setup', 'closer', 'last'] as const;

export interface Place {
  to: Path;
  text: string;
  icon: LucideIcon;
  /** The second key of its shortcut, after "g". */
  key: string;
  /** Where it stands in the navigation; without one it is reached by other ways. */
  group?: (typeof groups)[number];
  /** In the bar of narrow screens, which has room for four; the others are behind "More". */
  bar?: boolean;
}

export const pages: Place[] = [
  {
    to: '/',
    text: texts.nav.overview,
    icon: LayoutDashboard,
    key: 'o',
    group: 'daily',
    bar: true,
  },
  { to: '/servers', text: texts.nav.servers, icon: Server, key: 's', group: 'daily', bar: true },
  { to: '/tools', text: texts.nav.tools, icon: Wrench, key: 't', group: 'daily', bar: true },
  { to: '/calls', text: texts.nav.calls, icon: Activity, key: 'c', group: 'daily', bar: true },
  {
    to: '/questions',
    text: texts.questions.title,
    icon: MessageCircleQuestion,
    key: 'q',
    group: 'daily',
  },
  { to: '/clients', text: texts.nav.clients, icon: MonitorSmartphone, key: 'l', group: 'setup' },
  { to: '/profiles', text: texts.profiles.title, icon: Layers, key: 'p', group: 'setup' },
  { to: '/directory', text: texts.directory.title, icon: Store, key: 'd', group: 'setup' },
  { to: '/sessions', text: texts.sessions.title, icon: Route, key: 'h', group: 'closer' },
  { to: '/usage', text: texts.usage.title, icon: ChartColumn, key: 'u', group: 'closer' },
  { to: '/checks', text: texts.checks.title, icon: ListChecks, key: 'k', group: 'closer' },
  { to: '/settings', text: texts.nav.settings, icon: Settings, key: 'e', group: 'last' },
  { to: '/welcome', text: texts.welcome.title, icon: Sparkles, key: 'w' },
  { to: '/add', text: texts.add.title, icon: Plus, key: 'n' },
];

/** Whether a path belongs to a page. */
export function isAt(to: string, path: string): boolean {
  return path === to || path.startsWith(`${to}/`);
}

/** The page that a path belongs to. */
export function pageAt(path: string): Place | undefined {
  return pages.find(({ to }) => (to === '/' ? path === '/' : isAt(to, path)));
}
