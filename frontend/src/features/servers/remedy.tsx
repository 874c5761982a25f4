import { Link } from '@tanstack/react-router';
import { Download, KeyRound, PenLine, Play, ShieldQuestion } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { stateTone } from '@/components/state-badge';
import { classes } from '@/lib/classes';
import { part } from '@/lib/page-part';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { wantsLogin } from './sign-in';

const t = texts.servers.remedy;
const loadDialogs = part(() => import('./remedy-dialogs'));
const SetKey = lazy(async () => ({ default: (await loadDialogs()).SetKey }));
const InTerminal = lazy(async () => ({ default: (await loadDialogs()).InTerminal }));

export type Remedy =
  | { kind: 'signIn' | 'approve' | 'configure' }
  | { kind: 'container'; name: string }
  | { kind: 'key'; name: string; isSecret: boolean }
  /** `command` installs the product; "" if only its documentation is known. */
  | { kind: 'install'; product: string; command: string; address: string };

/** The action that fixes the problem of a server, derived from its reason and hint. */
export function remedyOf(server: ServerStatus): Remedy | undefined {
  const tone = stateTone(server.state);
  if (wantsLogin(server)) return { kind: 'signIn' };
  if (tone !== 'bad' && tone !== 'warn') return undefined;
  if (server.state === 'needs-approval') return { kind: 'approve' };
  const { reason, hint = '' } = server;
  const variable = /variable \$\{(?:env:)?([A-Za-z_]\w*)\} is not set/.exec(reason)?.[1];
  if (variable) return { kind: 'key', name: variable, isSecret: false };
  const secret = /there is no secret named "([\w./@-]+)"/.exec(reason)?.[1];
  if (secret) return { kind: 'key', name: secret, isSecret: true };
  const missing = /drawbridge secret set (\w+)\. Then add/.exec(hint)?.[1];
  if (missing) return { kind: 'key', name: missing, isSecret: false };
  const container = /the container is not running: "([\w.-]+)"/.exec(reason)?.[1];
  if (container) return { kind: 'container', name: container };
  const program = /Install ([\w .+]+): (?:(.+) \()?(https:\/\/[\w./-]+\w)\)?\.?$/.exec(hint);
  if (program?.[1] && program[3])
    return { kind: 'install', product: program[1], command: program[2] ?? '', address: program[3] };
  return /^(Correct|Check the|Set|Add|Remove|The package)|TimeoutMs|\bargs\b/.test(hint)
    ? { kind: 'configure' }
    : undefined;
}

/** The action as a button; the page of the server (`own`) shows the sign-in separately. */
export function RemedyButton({ server, own = false }: { server: ServerStatus; own?: boolean }) {
  const [open, setOpen] = useState(false);
  const remedy = remedyOf(server);
  if (!remedy || (own && remedy.kind === 'signIn')) return null;
  const label = server.label || server.id;
  const look = classes(buttonClasses('primary', true), 'relative z-10');
  switch (remedy.kind) {
    case 'signIn':
    case 'configure':
      return (
        <Link
          to="/servers/$id"
          params={{ id: server.id }}
          search={remedy.kind === 'signIn' ? {} : { view: 'config' }}
          className={look}
          aria-label={`${remedy.kind === 'signIn' ? texts.signIn.start : t.configure}: ${label}`}
        >
          {remedy.kind === 'configure' && <PenLine className="size-3.5" aria-hidden />}
          {remedy.kind === 'signIn' ? texts.signIn.start : t.configure}
        </Link>
      );
    case 'approve':
      return (
        <Link to="/approvals" className={look} aria-label={`${t.approve}: ${label}`}>
          <ShieldQuestion className="size-3.5" aria-hidden />
          {t.approve}
        </Link>
      );
    default: {
      const Icon = { key: KeyRound, install: Download, container: Play }[remedy.kind];
      const close = () => setOpen(false);
      return (
        <>
          <Button small look="primary" className="relative z-10" onClick={() => setOpen(true)}>
            <Icon className="size-3.5" aria-hidden />
            {remedy.kind === 'key' && t.setKey(remedy.name)}
            {remedy.kind === 'install' && t.install(remedy.product)}
            {remedy.kind === 'container' && t.container}
          </Button>
          <Suspense>
            {open && remedy.kind === 'key' && (
              <SetKey
                server={server}
                name={remedy.name}
                isSecret={remedy.isSecret}
                onClose={close}
              />
            )}
            {open && remedy.kind === 'install' && (
              <InTerminal
                server={server}
                action={t.install(remedy.product)}
                title={t.installTitle(remedy.product)}
                command={remedy.command}
                address={remedy.address}
                onClose={close}
              />
            )}
            {open && remedy.kind === 'container' && (
              <InTerminal
                server={server}
                action={t.container}
                title={t.containerTitle(remedy.name)}
                command={`docker start ${remedy.name}`}
                onClose={close}
              />
            )}
          </Suspense>
        </>
      );
    }
  }
}
