import { useQuery } from '@tanstack/react-query';
import { Confirm } from '@/components/confirm';
import { Failure } from '@/components/failure';
import { Loading } from '@/components/page';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Connection, UndoPlan } from '@/types/api';
import { undoPlanQuery, useConnectionAction } from './api';

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
  const client = short(connection.name, 200);
  return (
    <Confirm
      title={`Disconnect ${client}?`}
      action={texts.connections.undo}
      pending={action.isPending}
      blocked={data?.problem !== ''}
      onConfirm={() =>
        action.mutate('undo', {
          onSuccess: ({ result }) =>
            toast(
              'ok',
              texts.connections.done[result === 'removed' ? 'removed' : 'undo'](connection.name),
            ),
          onError: toastError,
          onSettled: onClose,
        })
      }
      onClose={onClose}
    >
      {data ? (
        <UndoText plan={data} client={client} id={connection.key} />
      ) : error ? null : (
        <Loading />
      )}
      <Failure error={error} />
    </Confirm>
  );
}

function UndoText({ plan, client, id }: { plan: UndoPlan; client: string; id: string }) {
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
  const used = plan.removed.filter((one) => one.usedBy.length > 0);
  return (
    <div className="space-y-2">
      <p>{fileText(plan, client)}</p>
      {plan.removed.length > 0 && (
        <p>{`Removed from Drawbridge: ${list(plan.removed.map((one) => one.name))}.`}</p>
      )}
      {used.map((one) => (
        <p key={one.name} className="text-warn">
          {one.usedBy.length === 1
            ? `${clients(one.usedBy)} also uses ${list([one.name])}, and loses it.`
            : `${clients(one.usedBy)} also use ${list([one.name])}, and lose it.`}
        </p>
      ))}
      {(plan.shared ?? []).map((one) => (
        <p
          key={one.name}
        >{`Stays in Drawbridge for ${clients(one.clients)}: ${list([one.name])}.`}</p>
      ))}
      {plan.kept.length > 0 && (
        <p>{`Stays in Drawbridge, because it was changed there: ${list(plan.kept)}.`}</p>
      )}
    </div>
  );
}
