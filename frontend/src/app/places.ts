import {
  Activity,
  LayoutDashboard,
  type LucideIcon,
  MessageCircleQuestion,
  MonitorSmartphone,
  Plus,
  Server,
  Settings,
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
  | '/add';

export interface Place {
  to: Path;
  text: string;
  icon: LucideIcon;
  /** The second key of its shortcut, after "g". */
  key: string;
  /** Not in the navigation: reached by other ways. */
  aside?: boolean;
}

export const pages: Place[] = [
  { to: '/', text: texts.nav.overview, icon: LayoutDashboard, key: 'o' },
  { to: '/servers', text: texts.nav.servers, icon: Server, key: 's' },
  { to: '/calls', text: texts.nav.calls, icon: Activity, key: 'c' },
  { to: '/tools', text: texts.nav.tools, icon: Wrench, key: 't' },
  { to: '/clients', text: texts.nav.clients, icon: MonitorSmartphone, key: 'l' },
  { to: '/settings', text: texts.nav.settings, icon: Settings, key: 'e' },
  {
    to: '/questions',
    text: texts.questions.title,
    icon: MessageCircleQuestion,
    key: 'q',
    aside: true,
  },
  { to: '/add', text: texts.add.title, icon: Plus, key: 'n', aside: true },
];
