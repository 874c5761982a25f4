import { Link } from '@tanstack/react-router';
import {
  Download,
  KeyRound,
  type LucideIcon,
  PenLine,
  Play,
  ScrollText,
  ShieldQuestion,
} from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { classes } from '@/lib/class-names';
import { lazyChunk } from '@/lib/lazy-chunk';
import { texts } from '@/lib/texts';
import type { Remedy, ServerStatus } from '@/types/api';
import type { View } from './server-page-views';

const words = {
  configure: 'Edit configuration',
  approve: 'Review command',
  install: (product: string) => `Install ${product}…`,
};

const loadDialogs = lazyChunk(() => import('./server-remedy-dialogs'));
const SetKey = lazy(async () => ({ default: (await loadDialogs()).SetKey }));
const InTerminal = lazy(async () => ({ default: (await loadDialogs()).InTerminal }));

type Kind = Remedy['kind'];

/** Kinds whose remedy is a command for a terminal, with its label. */
const commands: Partial<Record<Kind, (name: string) => string>> = {
  'install-program': words.install,
  'install-package': words.install,
  'start-docker': () => 'Start Docker…',
  'allow-docker': () => 'Allow Docker…',
  'start-container': () => 'Start container…',
  'unlock-secrets': () => 'Unlock secrets…',
};

const links: Partial<Record<Kind, { label: string; icon?: LucideIcon; view?: View }>> = {
  'sign-in': { label: 'Sign in' },
  'edit-config': { label: words.configure, icon: PenLine, view: 'config' },
  'free-port': { label: words.configure, icon: PenLine, view: 'config' },
  'see-log': { label: 'Open log', icon: ScrollText, view: 'log' },
};

/** Whether there is an action for the problem of a server; the page of the server (`own`) offers
 * the sign-in and the log itself. */
export function hasRemedy({ remedy }: ServerStatus, own = false) {
  const kind = remedy?.kind;
  if (!kind || (own && (kind === 'sign-in' || kind === 'see-log'))) return false;
  return kind === 'approve' || kind.startsWith('set-') || Boolean(commands[kind] ?? links[kind]);
}

/** Whether the problem of a server is solved in its configuration. */
export const editsConfig = ({ remedy }: ServerStatus) =>
  links[remedy?.kind ?? 'see-log']?.view === 'config';

/** The action as a button: the main one of a server's own page, one of many in a list. */
export function RemedyButton({ server, own = false }: { server: ServerStatus; own?: boolean }) {
  const [open, setOpen] = useState(false);
  const { remedy } = server;
  if (!remedy || !hasRemedy(server, own)) return null;
  const { kind, name = '' } = remedy;
  const label = server.label || server.id;
  const emphasis = own ? 'primary' : 'secondary';
  const look = classes(buttonClasses(emphasis, true), 'relative z-10');
  const link = links[kind];
  if (link)
    return (
      <Link
        to="/servers/$id"
        params={{ id: server.id }}
        search={link.view ? { view: link.view } : {}}
        className={look}
        aria-label={`${link.label}: ${label}`}
      >
        {link.icon && <link.icon className="size-3.5" aria-hidden />}
        {link.label}
      </Link>
    );
  if (kind === 'approve')
    return (
      <Link to="/approvals" className={look} aria-label={`${words.approve}: ${label}`}>
        <ShieldQuestion className="size-3.5" aria-hidden />
        {words.approve}
      </Link>
    );
  const action = commands[kind]?.(name) ?? texts.servers.remedy.setKey(name);
  const Icon = kind.startsWith('set-') ? KeyRound : kind.startsWith('install') ? Download : Play;
  const close = () => setOpen(false);
  return (
    <>
      <Button small look={emphasis} className="relative z-10" onClick={() => setOpen(true)}>
        <Icon className="size-3.5" aria-hidden />
        {action}
      </Button>
      <Suspense>
        {open &&
          (kind.startsWith('set-') ? (
            <SetKey server={server} name={name} isSecret={kind === 'set-secret'} onClose={close} />
          ) : (
            <InTerminal server={server} remedy={remedy} action={action} onClose={close} />
          ))}
      </Suspense>
    </>
  );
}
