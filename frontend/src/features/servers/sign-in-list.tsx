import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, KeyRound } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { classes } from '@/lib/class-names';
import { age, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import type { ServerStatus } from '@/types/api';
import { serversQuery } from './api';
import { knowsLogin, SignOut, useLogin, wantsLogin } from './sign-in';

/** Whether a server has a sign-in, for `SignIns`. */
export const useHasSignIns = (): boolean =>
  useSuspenseQuery({ ...serversQuery, select: (servers) => servers.some(knowsLogin) }).data;

/** The sign-ins of all servers. */
export function SignIns() {
  const { data: servers } = useSuspenseQuery(serversQuery);
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">
        Servers that require sign-in. A server’s accounts are on its page, under Configuration.
      </p>
      <ul className="overflow-hidden rounded-md border text-sm">
        {servers.filter(knowsLogin).map((server) => (
          <Row key={server.id} server={server} />
        ))}
      </ul>
    </div>
  );
}

function Row({ server }: { server: ServerStatus }) {
  const now = useNow();
  const { data } = useLogin(server.id, true);
  const needed = wantsLogin(server);
  const Icon = needed ? KeyRound : CircleCheck;
  const name = escapeControlCharacters((server.label || server.id).slice(0, 200));
  const issuer = data?.issuer;
  return (
    <li className="flex flex-wrap items-center gap-x-3 border-t px-3 py-1.5 first:border-t-0">
      <Icon className={classes('size-4 shrink-0', needed ? 'text-warn' : 'text-ok')} aria-hidden />
      <span className="min-w-0 flex-1">
        <Link
          to="/servers/$id"
          params={{ id: server.id }}
          className="block truncate font-medium underline-offset-2 hover:underline"
        >
          {name}
        </Link>
        <span className="block text-xs text-ink3 [overflow-wrap:anywhere]">
          {needed ? 'Needs sign-in' : 'Signed in'}
          {data?.since && ` · ${texts.servers.ago(age(data.since, now))}`}
          {issuer && ` · ${escapeControlCharacters(issuer)}`}
        </span>
      </span>
      {needed && (
        <Link
          to="/servers/$id"
          params={{ id: server.id }}
          className={buttonClasses('secondary', true)}
        >
          Sign in
          <span className="sr-only">: {name}</span>
        </Link>
      )}
      {issuer && <SignOut id={server.id} name={name} issuer={issuer} />}
    </li>
  );
}
