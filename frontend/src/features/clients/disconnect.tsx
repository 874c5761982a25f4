import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm } from '@/components/confirm';
import { Failure } from '@/components/failure';
import { Loading } from '@/components/page';
import { CheckBox } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { toast, toastError } from '@/lib/toast';
import type { Connection, UndoPlan } from '@/types/api';
import { undoPlanQuery, useConnectionAction } from './api';

export const disconnect = 'Disconnect';

const short = (text: string, limit = 400) => escapeControlCharacters(text.slice(0, limit));

const list = (names: string[]) =>
  new Intl.ListFormat('en').format(names.slice(0, 50).map((name) => `“${short(name, 100)}”`));

const clients = (names: string[]) =>
  new Intl.ListFormat('en').format(names.slice(0, 50).map((name) => short(name, 100)));

/** What happens to the file of the client. */
function fileText({ path, file, restored }: UndoPlan, client: string): string {
  const starts = restored.length > 0 ? ` ${client} starts ${list(restored)} by itself again.` : '';
  if (file === 'unchanged')
    return `${short(path)} has not changed since you connected: it gets its original content.${starts}`;
  const since = file === 'changed' ? ' has changed since you connected' : ' was edited by hand';
  return `${short(path)}${since}: only the Drawbridge entries are removed, everything else stays.${starts}`;
}

/** Asks whether to disconnect a client, and says what that changes in its file and in Drawbridge. */
export function Disconnect({
  connection,
  onClose,
}: {
  connection: Connection;
  onClose: () => void;
}) {
  const action = useConnectionAction(connection);
  const { data, error } = useQuery(undoPlanQuery(connection.key));
  const settings = useQuery(profilesQuery).data?.clients.find(
    ({ token }) => token === connection.id,
  );
  const [choice, setChoice] = useState<boolean | undefined>(undefined);
  const keep = choice ?? data?.removed.some((one) => one.usedBy.length > 0) ?? false;
  const client = short(connection.name, 200);
  return (
    <Confirm
      title={`Disconnect ${client}?`}
      action={disconnect}
      pending={action.isPending}
      blocked={data?.problem !== ''}
      onConfirm={() =>
        action.mutate(keep ? 'keep' : 'undo', {
          onSuccess: ({ result }) =>
            toast(
              'ok',
              `${connection.name} disconnected. ${
                result === 'removed'
                  ? 'Only the Drawbridge entries were removed from its file.'
                  : 'Its configuration was restored.'
              }`,
            ),
          onError: toastError,
          onSettled: onClose,
        })
      }
      onClose={onClose}
    >
      {data ? (
        <div className="space-y-2">
          <UndoText plan={data} client={client} id={connection.key} keep={keep} />
          {!data.problem && data.removed.length > 0 && (
            <CheckBox
              label="Keep these servers in Drawbridge"
              checked={keep}
              onChange={setChoice}
            />
          )}
          {!data.problem && settings && (settings.profile || settings.toolMode) && (
            <p>Its profile and tool listing are kept for the next time.</p>
          )}
        </div>
      ) : error ? null : (
        <Loading />
      )}
      <Failure error={error} />
    </Confirm>
  );
}

function UndoText({
  plan,
  client,
  id,
  keep,
}: {
  plan: UndoPlan;
  client: string;
  id: string;
  keep: boolean;
}) {
  if (plan.problem)
    return (
      <div className="space-y-2">
        <p className="text-bad">{`Cannot disconnect: ${short(plan.problem)}.`}</p>
        <p>
          Correct the file, then try again. To restore its original content instead, run{' '}
          <code className="font-mono text-xs">{`drawbridge clients undo ${id} --force`}</code>
        </p>
      </div>
    );
  const losers = new Map<string, string[]>();
  for (const { name, usedBy, profiles } of plan.removed) {
    const users = [
      ...usedBy.map((one) => short(one, 100)),
      ...profiles.map((one) => `the profile “${short(one, 100)}”`),
    ];
    const who = new Intl.ListFormat('en').format(users.slice(0, 50));
    if (who) losers.set(who, [...(losers.get(who) ?? []), name]);
  }
  return (
    <>
      <p>{fileText(plan, client)}</p>
      {plan.removed.length > 0 && !keep && (
        <p>{`Removed from Drawbridge: ${list(plan.removed.map((one) => one.name))}.`}</p>
      )}
      {[...losers].map(([who, names]) => (
        <p
          key={who}
          className={keep ? '' : 'text-warn'}
        >{`Also used by ${who}: ${list(names)}.`}</p>
      ))}
      {(plan.shared ?? []).map((one) => (
        <p
          key={one.name}
        >{`Stays in Drawbridge for ${clients(one.clients)}: ${list([one.name])}.`}</p>
      ))}
      {plan.kept.length > 0 && (
        <p>{`Stays in Drawbridge, because it was changed there: ${list(plan.kept)}.`}</p>
      )}
    </>
  );
}
