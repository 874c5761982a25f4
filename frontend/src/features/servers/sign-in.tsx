import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink, KeyRound, LogOut } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { CopyField } from '@/components/copy-button';
import { Facts, Section } from '@/components/fields';
import { classes } from '@/lib/class-names';
import { age, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { messageOf, request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { LoginPending, LoginStatus, ServerStatus } from '@/types/api';

const words = {
  title: 'Sign-in',
  again: 'Sign in again',
  finding: 'Finding the sign-in page…',
  failed: (why: string) => `Sign-in failed: ${why}.`,
  out: 'Sign out',
};

const at = (id: string, rest = '') => `/api/v1/servers/${encodeURIComponent(id)}/login${rest}`;

/** Whether a server has a sign-in. */
export const knowsLogin = (server: ServerStatus) => Boolean(server.login);

/** Whether a server requires a sign-in by the user. */
export const wantsLogin = (server: ServerStatus) =>
  server.login === 'needed' || server.login === 'more' || server.state === 'needs-login';

export function useLogin(id: string, enabled: boolean) {
  return useQuery({
    queryKey: ['server', id, 'login'],
    queryFn: ({ signal }) => request<LoginStatus>('GET', at(id), { signal }),
    enabled,
    refetchInterval: (query) => (query.state.data?.pending ? 1000 : 5000),
    retry: false,
  });
}

/** Starts or cancels the sign-in of a server, or of an account as SERVER@ACCOUNT. */
function useSignIn(id: string) {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: ['server', id] });
  const begin = useMutation({
    mutationFn: () => request<LoginPending>('POST', at(id)),
    onError: (error) => toast('bad', messageOf(error)),
    onSettled: again,
  });
  const cancel = useMutation({
    mutationFn: () => requestText('DELETE', at(id)),
    onSettled: again,
  });
  return { begin, cancel };
}

/** Starts or cancels a sign-in, above the views of a server. */
export function SignIn({ server }: { server: ServerStatus }) {
  const wanted = wantsLogin(server);
  const { data } = useLogin(server.id, wanted || knowsLogin(server));
  const { begin, cancel } = useSignIn(server.id);
  if (data?.pending)
    return (
      <Pending
        id={server.id}
        label={words.title}
        pending={data.pending}
        onCancel={() => cancel.mutate()}
        className="border-b px-4 py-3 md:px-5 [&+section]:border-t-0"
      />
    );
  if (!wanted) return null;
  return (
    <section
      aria-label={words.title}
      className="space-y-2 border-b px-4 py-3 md:px-5 [&+section]:border-t-0"
    >
      <Button look="primary" disabled={begin.isPending} onClick={() => begin.mutate()}>
        <KeyRound className="size-3.5" aria-hidden />
        {begin.isPending ? words.finding : 'Sign in'}
      </Button>
      {(begin.error || data?.failed) && (
        <p role="status" className="text-sm text-bad [overflow-wrap:anywhere]">
          {escapeControlCharacters(
            begin.error ? messageOf(begin.error) : words.failed(data?.failed ?? ''),
          )}
        </p>
      )}
    </section>
  );
}

function Pending({
  id,
  label,
  pending,
  onCancel,
  className,
}: {
  id: string;
  label: string;
  pending: LoginPending;
  onCancel: () => void;
  className?: string;
}) {
  const open = useMutation({
    mutationFn: () => requestText('POST', at(id, '/open')),
    onError: (error) => toast('bad', messageOf(error)),
  });
  const host = escapeControlCharacters(pending.host);
  const web = /^https?:\/\//i.test(pending.url);
  return (
    <section aria-label={label} className={classes('space-y-3', className)}>
      <div>
        <p className="font-semibold [overflow-wrap:anywhere]">{`${host} will ask you to sign in.`}</p>
        <p className="text-sm text-ink2">
          Continue only if you trust this site. Drawbridge never sees your password.
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" disabled={open.isPending} onClick={() => open.mutate()}>
          <ExternalLink className="size-3.5" aria-hidden />
          {`Open ${host}`}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel sign-in
        </Button>
      </div>
      <CopyField text={escapeControlCharacters(pending.url)} label="Sign-in URL" />
      <p className="flex flex-wrap gap-x-3 text-sm text-ink3" role="status">
        Waiting for you to finish signing in.
        {web && (
          <a className="underline" href={pending.url} target="_blank" rel="noopener noreferrer">
            Open in this browser
          </a>
        )}
      </p>
    </section>
  );
}

/** The issuer of the current tokens, and buttons to sign in again or sign out. */
export function SignedIn({ server }: { server: ServerStatus }) {
  const now = useNow();
  const { data } = useLogin(server.id, knowsLogin(server));
  const { begin } = useSignIn(server.id);
  if (!data?.issuer) return null;
  return (
    <Section
      title="Signed in"
      aside={
        <span className="flex gap-1">
          <Button small look="quiet" disabled={begin.isPending} onClick={() => begin.mutate()}>
            {words.again}
          </Button>
          <SignOut
            id={server.id}
            name={escapeControlCharacters(server.label || server.id)}
            issuer={data.issuer}
          />
        </span>
      }
    >
      <Facts
        rows={[
          ['Access token issuer', escapeControlCharacters(data.issuer)],
          [
            'Permissions',
            data.scopes?.length ? escapeControlCharacters(data.scopes.join(', ')) : '',
          ],
          ['Signed in', data.since && texts.servers.ago(age(data.since, now))],
          [
            'Renewal',
            data.renews ? 'Automatic' : 'You must sign in again when the access token expires',
          ],
        ]}
      />
    </Section>
  );
}

export function SignOut({ id, name, issuer }: { id: string; name: string; issuer: string }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const out = useMutation({
    mutationFn: () => requestText('POST', `/api/v1/servers/${encodeURIComponent(id)}/logout`),
    onSuccess: () => {
      setAsking(false);
      toast('ok', `Signed out of ${name}.`);
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['server', id] }),
  });
  return (
    <>
      <Button small look="quiet" disabled={out.isPending} onClick={() => setAsking(true)}>
        <LogOut className="size-3.5" aria-hidden />
        {words.out}
      </Button>
      {asking && (
        <Confirm
          title={`Sign out of ${name}?`}
          action={words.out}
          of={out}
          onConfirm={() => out.mutate()}
          onClose={() => setAsking(false)}
        >
          {`Its access tokens will be deleted and revoked at ${escapeControlCharacters(issuer)}. Its tools will fail until you sign in again.`}
        </Confirm>
      )}
    </>
  );
}

/** The sign-in of an account: its state, and buttons to sign in and out. */
export function AccountSignIn({
  server,
  label,
  account,
}: {
  server: string;
  label: string;
  account: string;
}) {
  const id = `${server}@${account}`;
  const { data } = useLogin(id, true);
  const { begin, cancel } = useSignIn(id);
  if (!data) return null;
  if (data.pending)
    return (
      <Pending
        id={id}
        label={`Sign-in for ${escapeControlCharacters(account)}`}
        pending={data.pending}
        onCancel={() => cancel.mutate()}
      />
    );
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm">
      <span role="status" className="min-w-0 [overflow-wrap:anywhere]">
        {data.issuer
          ? `Signed in with ${escapeControlCharacters(data.issuer)}.`
          : data.state === ''
            ? escapeControlCharacters(data.reason) || 'Not signed in.'
            : 'Sign-in required.'}
        {data.failed && (
          <span className="block text-bad">
            {escapeControlCharacters(words.failed(data.failed))}
          </span>
        )}
      </span>
      <Button small disabled={begin.isPending} onClick={() => begin.mutate()}>
        <KeyRound className="size-3.5" aria-hidden />
        {begin.isPending ? words.finding : data.issuer ? words.again : 'Sign in'}
      </Button>
      {data.issuer && (
        <SignOut
          id={id}
          name={`${escapeControlCharacters(label)} (${escapeControlCharacters(account)})`}
          issuer={data.issuer}
        />
      )}
    </div>
  );
}
