import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { DiffView } from '@/components/diff-view';
import { age, plain } from '@/lib/format';
import { useNow } from '@/lib/now';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Client } from '@/types/api';
import { tokensQuery, useTokenChange } from './api';

const t = texts.settings.tokenPanel;

/** One token for each client: made new or taken back, with what that changes in its file. */
export function TokensPanel() {
  const { data } = useQuery(tokensQuery);
  const tokens = new Map<string, Client>();
  for (const client of data ?? []) {
    const known = tokens.get(client.token);
    if (client.token && (!known || (client.lastSeen ?? '') > (known.lastSeen ?? '')))
      tokens.set(client.token, client);
  }
  if (tokens.size === 0) return <p className="text-sm text-ink3">{t.none}</p>;
  return (
    <ul className="overflow-hidden rounded-md border">
      {[...tokens].map(([name, client]) => (
        <TokenRow key={name} name={name} client={client} />
      ))}
    </ul>
  );
}

function TokenRow({ name, client }: { name: string; client: Client }) {
  const [asking, setAsking] = useState<'rotate' | 'revoke' | undefined>(undefined);
  const look = useTokenChange(name);
  const change = useTokenChange(name);
  const now = useNow();
  const ask = (action: 'rotate' | 'revoke') => {
    setAsking(action);
    look.mutate({ action, dry: true });
  };
  const seen = age(client.lastSeen, now);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-2 text-sm first:border-t-0">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium">{plain(name)}</span>
        <span className="block truncate text-xs text-ink3">
          {plain([client.name, client.version].filter(Boolean).join(' '))}
          {seen && ` · ${texts.servers.ago(seen)}`}
        </span>
      </span>
      <Button small onClick={() => ask('rotate')}>
        {t.rotate}
      </Button>
      <Button small look="danger" onClick={() => ask('revoke')}>
        {t.revoke}
      </Button>
      {asking && (
        <Confirm
          title={asking === 'rotate' ? t.rotateTitle(plain(name)) : t.revokeTitle(plain(name))}
          action={asking === 'rotate' ? t.rotate : t.revoke}
          danger={asking === 'revoke'}
          pending={change.isPending}
          error={change.error}
          onClose={() => setAsking(undefined)}
          onConfirm={() =>
            change.mutate(
              { action: asking, dry: false },
              {
                onSuccess: () => {
                  setAsking(undefined);
                  toast('ok', asking === 'rotate' ? t.rotated : t.revoked);
                },
              },
            )
          }
        >
          <p>{asking === 'rotate' ? t.rotateBody : t.revokeBody}</p>
          {look.isError && <p className="mt-2 text-sm text-bad">{plain(messageOf(look.error))}</p>}
          {(look.data?.rewritten ?? []).map((one) => (
            <div key={`${one.key}/${one.path}`} className="mt-3">
              <p className="mb-1 font-mono text-xs">{plain(one.path)}</p>
              {one.error ? (
                <p className="text-sm text-warn">{plain(one.error)}</p>
              ) : (
                <DiffView diff={one.diff} label={t.diff(plain(one.path))} />
              )}
            </div>
          ))}
        </Confirm>
      )}
    </li>
  );
}
