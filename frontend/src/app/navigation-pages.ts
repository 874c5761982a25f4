import {
  Activity,
  ChartColumn,
  FileCog,
  Layers,
  LayoutDashboard,
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
  | '/configuration'
  | '/approvals'
  | '/usage'
  | '/directory'
  | '/profiles'
  | '/sessions'
  | '/welcome'
  | '/add';

export interface NavigationPage {
  to: Path;
  text: string;
  icon: LucideIcon;
  /** The second key of its shortcut, after "g". */
  key: string;
  /** The page of the navigation that it belongs to, if it is not in the navigation itself. */
  of?: Path;
  /** Whether it is a view of that page, with a tab in its title line. */
  tab?: boolean;
  /** Whether it is in the bar of narrow screens, which has space for four; the others are in "More". */
  bar?: boolean;
}

export const pages: NavigationPage[] = [
  { to: '/', text: 'Overview', icon: LayoutDashboard, key: 'o', bar: true },
  { to: '/servers', text: 'Servers', icon: Server, key: 's', bar: true },
  { to: '/tools', text: 'Tools', icon: Wrench, key: 't', bar: true },
  { to: '/calls', text: 'Calls', icon: Activity, key: 'c', bar: true },
  { to: '/clients', text: 'Clients', icon: MonitorSmartphone, key: 'l' },
  { to: '/approvals', text: texts.approvals.title, icon: MessageCircleQuestion, key: 'q' },
  { to: '/settings', text: 'Settings', icon: Settings, key: 'e' },
  { to: '/usage', text: texts.usage.title, icon: ChartColumn, key: 'u', of: '/', tab: true },
  {
    to: '/directory',
    text: texts.directory.title,
    icon: Store,
    key: 'd',
    of: '/servers',
    tab: true,
  },
  { to: '/sessions', text: 'Sessions', icon: Route, key: 'h', of: '/calls', tab: true },
  {
    to: '/profiles',
    text: 'Profiles',
    icon: Layers,
    key: 'p',
    of: '/clients',
    tab: true,
  },
  {
    to: '/configuration',
    text: texts.configCopies.title,
    icon: FileCog,
    key: 'f',
    of: '/settings',
    tab: true,
  },
  { to: '/welcome', text: texts.welcome.title, icon: Sparkles, key: 'w', of: '/' },
  { to: '/add', text: 'Add a server', icon: Plus, key: 'n', of: '/servers' },
];

/** The pages of the navigation. */
export const navigationPages = pages.filter((page) => page.of === undefined);

/** The page that a path belongs to. */
export function pageAt(path: string): NavigationPage | undefined {
  return pages.find(({ to }) => path === to || (to !== '/' && path.startsWith(`${to}/`)));
}

/** A page of the navigation and its views; empty if it has no views. */
export function viewsOf(page: NavigationPage | undefined): NavigationPage[] {
  if (!page || (page.of !== undefined && !page.tab)) return [];
  const place = page.of ?? page.to;
  const views = pages.filter(({ to, of, tab }) => to === place || (tab && of === place));
  return views.length > 1 ? views : [];
}
