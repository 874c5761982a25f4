import { useQuery } from '@tanstack/react-query';
import { CopyField } from '@/components/copy-button';
import { CheckBox } from '@/components/text-field';
import { byName, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import type { Profile } from '@/types/api';
import { useClientView } from './api';
import { viewOf } from './client-access';

/** The URL of a profile, the entry for a client, and the clients that use the profile. */
export function ProfileURLAndClients({
  profile,
  client,
  tokens,
  url,
  requireToken,
}: {
  profile: Profile | undefined;
  /** The client that a new profile is for. */
  client: string | undefined;
  tokens: string[];
  url: string;
  requireToken: boolean;
}) {
  const { data } = useQuery(profilesQuery);
  const view = useClientView();
  if (!profile)
    return (
      <p className="text-sm text-ink3">
        {client === undefined
          ? 'Save the profile, then select its clients.'
          : `${escapeControlCharacters(client.slice(0, 100))} uses the profile once it is saved.`}
      </p>
    );
  const address = `${url}${profile.address}`;
  const entry = JSON.stringify(
    {
      mcpServers: {
        [`drawbridge-${profile.name}`]: {
          url: address,
          ...(requireToken ? { headers: { Authorization: 'Bearer TOKEN' } } : {}),
        },
      },
    },
    null,
    2,
  );
  const all = [...new Set([...tokens, ...profile.clients])].sort(byName);
  return (
    <div className="space-y-3 text-sm">
      <CopyField titled text={address} label="URL" />
      <CopyField titled text={entry} label="Configuration entry" />
      <fieldset className="space-y-2">
        <legend className="mb-1 text-xs text-ink3">Clients assigned to this profile</legend>
        {all.length === 0 && (
          <p className="text-ink3">No clients yet. Connect one on the Clients page first.</p>
        )}
        {all.map((token) => (
          <CheckBox
            key={token}
            label={escapeControlCharacters(token.slice(0, 100))}
            checked={profile.clients.includes(token)}
            disabled={view.isPending}
            onChange={(on) =>
              view.mutate({
                ...viewOf(data?.clients ?? [], token),
                profile: on ? profile.name : '',
              })
            }
          />
        ))}
      </fieldset>
    </div>
  );
}
