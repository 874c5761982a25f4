import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { CopyField } from '@/components/copy-button';
import { DiffView } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { TextField } from '@/components/text-field';
import { age, escapeControlCharacters } from '@/lib/format';
import { useIsGuest } from '@/lib/guests-query';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Client } from '@/types/api';
import { tokensQuery, useNewToken, useTokenChange } from './api';

const words = {
  token: (name: string) => `Access token for ${name}`,
  rotate: 'Rotate',
  revoke: 'Revoke',
};

/** The tokens of the clients. Rotating or revoking one shows the change of the client's file. */
export function AccessTokens() {
  const { data } = useQuery(tokensQuery);
  const isGuest = useIsGuest();
  const tokens = new Map<string, Client>();
  for (const client of data ?? []) {
    const known = tokens.get(client.token);
    if (
      client.hasToken &&
      !isGuest(client.token) &&
      (!known || (client.lastSeen ?? '') > (known.lastSeen ?? ''))
    )
      tokens.set(client.token, client);
  }
  const [fresh, setFresh] = useState<{ name: string; token: string } | undefined>(undefined);
  return (
    <div className="space-y-3">
      {tokens.size === 0 ? (
        <p className="text-sm text-ink3">{data ? 'No access tokens yet.' : texts.loading}</p>
      ) : (
        <ul className="overflow-hidden rounded-md border">
          {[...tokens].map(([name, client]) => (
            <TokenRow
              key={name}
              name={name}
              client={client}
              onToken={(token) => setFresh({ name, token })}
            />
          ))}
        </ul>
      )}
      {fresh && (
        <div role="status" className="rounded-md bg-ok-soft p-3">
          <p className="mb-1.5 text-sm font-medium text-ok">
            {words.token(escapeControlCharacters(fresh.name))}. Copy it now. To show it again later,
            run “drawbridge token NAME”.
          </p>
          <CopyField text={fresh.token} label={words.token(escapeControlCharacters(fresh.name))} />
        </div>
      )}
      <NewToken taken={tokens} onToken={(name, token) => setFresh({ name, token })} />
    </div>
  );
}

/** Creates a token for a client that is configured manually; the token is shown only once. */
function NewToken({
  taken,
  onToken,
}: {
  taken: Map<string, unknown>;
  onToken: (name: string, token: string) => void;
}) {
  const [name, setName] = useState('');
  const make = useNewToken();
  const sound = /^[A-Za-z0-9._-]{1,64}$/.test(name) && !taken.has(name);
  return (
    <form
      className="flex max-w-md flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!sound || make.isPending) return;
        make.mutate(name, {
          onSuccess: ({ token }) => {
            setName('');
            if (token) onToken(name, token);
          },
          onError: toastError,
        });
      }}
    >
      <TextField
        label="Client name"
        value={name}
        maxLength={64}
        aria-invalid={name !== '' && !sound}
        onChange={setName}
        className="min-w-0 flex-1 basis-40"
      />
      <Button type="submit" disabled={!sound || make.isPending}>
        <Plus className="size-4" aria-hidden />
        Create access token
      </Button>
    </form>
  );
}

function TokenRow({
  name,
  client,
  onToken,
}: {
  name: string;
  client: Client;
  onToken: (token: string) => void;
}) {
  const [asking, setAsking] = useState<'rotate' | 'revoke' | undefined>(undefined);
  const look = useTokenChange(name);
  const change = useTokenChange(name);
  const now = useNow();
  const ask = (action: 'rotate' | 'revoke') => {
    setAsking(action);
    look.mutate({ action, dryRun: true });
  };
  const seen = age(client.lastSeen, now);
  const files = look.data?.rewritten ?? [];
  const about =
    asking === 'revoke'
      ? {
          body: 'The client will lose access immediately.',
          files:
            'Entries that contain the access token will be removed from the files listed below.',
          noFile:
            'Drawbridge did not write this access token to a file. Remove it from the client yourself.',
        }
      : {
          body: 'The old access token will stop working immediately.',
          files: 'Drawbridge will update the files listed below.',
          noFile:
            'Drawbridge did not write this access token to a file. Enter the new one in the client yourself.',
        };
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-2 text-sm first:border-t-0">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium">{escapeControlCharacters(name)}</span>
        <span className="flex gap-x-3 text-xs text-ink3">
          <span className="min-w-0 truncate">
            {escapeControlCharacters([client.name, client.version].filter(Boolean).join(' '))}
          </span>
          {seen && <span className="shrink-0">{texts.clients.seen(seen)}</span>}
        </span>
      </span>
      <span className="flex gap-2">
        <Button small onClick={() => ask('rotate')}>
          {words.rotate}
        </Button>
        <Button small look="danger" onClick={() => ask('revoke')}>
          {words.revoke}
        </Button>
      </span>
      {asking && (
        <Confirm
          title={
            asking === 'rotate'
              ? `Rotate the access token for ${escapeControlCharacters(name)}?`
              : `Revoke the access token for ${escapeControlCharacters(name)}?`
          }
          action={asking === 'rotate' ? words.rotate : words.revoke}
          danger={asking === 'revoke'}
          of={change}
          blocked={look.isPending}
          onClose={() => setAsking(undefined)}
          onConfirm={() =>
            change.mutate(
              { action: asking, dryRun: false },
              {
                onSuccess: ({ token }) => {
                  setAsking(undefined);
                  if (token) onToken(token);
                  toast(
                    'ok',
                    asking === 'rotate' ? 'Access token rotated.' : 'Access token revoked.',
                  );
                },
              },
            )
          }
        >
          <p>
            {about.body} {look.isSuccess && (files.length > 0 ? about.files : about.noFile)}
          </p>
          <Failure error={look.error} className="mt-2" />
          {files.map((one) => (
            <div key={`${one.key}/${one.path}`} className="mt-3">
              <p className="mb-1 font-mono text-xs">{escapeControlCharacters(one.path)}</p>
              {one.error ? (
                <p className="text-sm text-warn">{escapeControlCharacters(one.error)}</p>
              ) : onlyMasked(one.diff) ? (
                <p className="text-sm">
                  The new access token replaces the old one. Nothing else in this file changes.
                </p>
              ) : (
                <DiffView
                  diff={one.diff}
                  label={`Changes to ${escapeControlCharacters(one.path)}`}
                />
              )}
            </div>
          ))}
        </Confirm>
      )}
    </li>
  );
}

/** Whether the masked secrets are the only change, so that removed and added lines look the same. */
export function onlyMasked(diff: string): boolean {
  const lines = diff.split('\n');
  const of = (sign: string) =>
    lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
  const gone = of('-');
  return gone.length > 0 && gone.join('\n') === of('+').join('\n');
}
