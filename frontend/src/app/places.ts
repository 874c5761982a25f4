import {
  Activity,
  ChartColumn,
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
  | '/sessions'
  | '/welcome'
  | '/add';

export interface Place {
  to: Path;
  text: string;
  icon: LucideIcon;
  /** The second key of its shortcut, after "g". */
  key: string;
  /** Not in the navigation: reached by other ways. */
  aside?: boolean;
  /** In the navigation of wide screens only; narrow ones have a link in their head line. */
  wide?: boolean;
}

export const pages: Place[] = [
  { to: '/', text: texts.nav.overview, icon: LayoutDashboard, key: 'o' },
  { to: '/servers', text: texts.nav.servers, icon: Server, key: 's' },
  { to: '/calls', text: texts.nav.calls, icon: Activity, key: 'c' },
  { to: '/tools', text: texts.nav.tools, icon: Wrench, key: 't' },
  { to: '/clients', text: texts.nav.clients, icon: MonitorSmartphone, key: 'l' },
  { to: '/usage', text: texts.usage.title, icon: ChartColumn, key: 'u', wide: true },
  { to: '/checks', text: texts.checks.title, icon: ListChecks, key: 'k', wide: true },
  {
    to: '/questions',
    text: texts.questions.title,
    icon: MessageCircleQuestion,
    key: 'q',
    wide: true,
  },
  { to: '/settings', text: texts.nav.settings, icon: Settings, key: 'e' },
  { to: '/sessions', text: texts.sessions.title, icon: Route, key: 'h', aside: true },
  { to: '/welcome', text: texts.welcome.title, icon: Sparkles, key: 'w', aside: true },
  { to: '/add', text: texts.add.title, icon: Plus, key: 'n', aside: true },
];
