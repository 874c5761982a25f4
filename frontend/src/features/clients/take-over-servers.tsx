import { useQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, LoaderCircle, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { FoldedDiff } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { Modal } from '@/components/modal';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { TakeoverClient, TakeoverPlan, TakeoverResult } from '@/types/api';
import {
  connectionsQuery,
  outsideHome,
  takenOverQuery,
  takeoverQuery,
  useTakeOver,
  useUndoTakeover,
} from './api';
import { ConfirmOutside } from './confirm-outside';
import { Notes } from './notes';

const words = {
  action: (servers: number, clients: number) =>
    `Move ${servers === 1 ? '1 server' : `${servers} servers`} from ${clients === 1 ? '1 client' : `${clients} clients`} to Drawbridge`,
};

const short = (text: string, limit = 400) => escapeControlCharacters(text.slice(0, limit));

/** Takes over the servers of all clients: one plan, one confirmation, one undo. */
export function TakeOver({ look = 'primary' }: { look?: 'primary' | 'secondary' }) {
  const plan = useQuery(takeoverQuery());
  const [open, setOpen] = useState(false);
  const clients = plan.data?.clients ?? [];
  return (
    <>
      {plan.data && clients.length > 0 && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Button look={look} onClick={() => setOpen(true)} className="max-sm:w-full">
            {words.action(plan.data.servers, clients.length)}
          </Button>
          <p className="min-w-0 flex-1 basis-60 text-sm text-ink2">
            You review every change first, and can undo all of them for 30 days.
          </p>
        </div>
      )}
      {open && plan.data && <ConfirmTakeover all={plan.data} onClose={() => setOpen(false)} />}
      <TakenOver />
    </>
  );
}

/** What was moved in the last 30 days, which can be undone; nothing if there is none. */
export function TakenOver() {
  const { data: taken = [] } = useQuery(takenOverQuery);
  const { data: connections } = useQuery(connectionsQuery);
  // A client that was disconnected since has nothing to undo, even if it is connected again.
  const left = taken.filter(({ key, error }) => {
    const now = connections?.find((one) => one.key === key);
    return error || !now || (now.connected && now.moved.length > 0);
  });
  return left.length > 0 && <Results results={left} />;
}

/** All changes that would be written, and the button that writes them. */
function ConfirmTakeover({ all, onClose }: { all: TakeoverPlan; onClose: () => void }) {
  const run = useTakeOver();
  const [except, setExcept] = useState<string[]>([]);
  const chosen = useQuery(takeoverQuery(except));
  const plan = chosen.data ?? all;
  const [asking, setAsking] = useState(false);
  const clients = plan.clients ?? [];
  const title = words.action(plan.servers, clients.length);
  const outside = outsideHome(...clients);
  const write = () => {
    setAsking(false);
    run.mutate({ plan, except }, { onSuccess: onClose });
  };
  if (asking)
    return <ConfirmOutside files={outside} onConfirm={write} onClose={() => setAsking(false)} />;
  return (
    <Modal label={title} onClose={onClose} className="max-w-3xl">
      <div className="scroll-area min-h-0 flex-1 p-5">
        <h2 className="text-lg font-semibold">{title}</h2>
        <p className="mt-1 max-w-prose text-pretty text-sm text-ink2">
          The servers will move to Drawbridge. In each client, they will be replaced by Drawbridge
          entries with the same names, so permission rules keep working.
          {plan.added < plan.servers &&
            ` Servers with the same definition become one: ${plan.servers} become ${plan.added}.`}
        </p>
        <ul className="mt-4 rounded-md border">
          {(all.clients ?? []).map((one) => (
            <Change
              key={one.key}
              client={clients.find(({ key }) => key === one.key) ?? one}
              moves={!except.includes(one.key)}
              onMoves={
                (all.clients ?? []).length > 1
                  ? (on) =>
                      setExcept((old) =>
                        on ? old.filter((key) => key !== one.key) : [...old, one.key].sort(),
                      )
                  : undefined
              }
            />
          ))}
        </ul>
        <Failure error={chosen.error} className="mt-3" />
        {(plan.skipped ?? []).map((one) => (
          <p key={one.client} className="mt-3 text-sm text-warn [overflow-wrap:anywhere]">
            {`Skipped ${short(one.client, 200)}: ${short(one.reason)}`}
          </p>
        ))}
      </div>
      <div className="border-t px-5 py-3">
        <Failure error={run.error} className="mb-3" />
        <div className="flex justify-end gap-2">
          <Button data-first onClick={onClose}>
            {texts.actions.cancel}
          </Button>
          <Button
            look="primary"
            disabled={run.isPending || chosen.isFetching || clients.length === 0}
            onClick={() => (outside.length > 0 ? setAsking(true) : write())}
          >
            {run.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            Move all
          </Button>
        </div>
      </div>
    </Modal>
  );
}

/** What is moved from one client; the changes of its files are folded. */
function Change({
  client,
  moves,
  onMoves,
}: {
  client: TakeoverClient;
  moves: boolean;
  /** Undefined if there is no other client. */
  onMoves: ((on: boolean) => void) | undefined;
}) {
  const name = short(client.name, 200);
  return (
    <li className="border-t px-3 py-2 first:border-t-0">
      <div className="flex flex-wrap items-baseline gap-x-3">
        {onMoves && (
          <input
            type="checkbox"
            aria-label={`Move the servers of ${name}`}
            checked={moves}
            onChange={(event) => onMoves(event.target.checked)}
            className="size-4 self-center accent-(--accent)"
          />
        )}
        <h3 className="font-semibold [overflow-wrap:anywhere]">{name}</h3>
        <span className="text-sm text-ink2">
          {moves ? texts.connections.servers(client.servers) : 'Stays as it is'}
        </span>
        <span className="min-w-0 flex-1 basis-72 font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
          {short(client.path)}
        </span>
      </div>
      {moves && <FoldedDiff diff={client.diff} of={name} label={`Changes for ${name}`} />}
      {moves &&
        (client.warnings ?? []).map((warning) => (
          <p key={warning} className="mt-1 text-sm text-warn [overflow-wrap:anywhere]">
            {short(warning)}
          </p>
        ))}
      {moves && <Notes notes={client.notes} />}
    </li>
  );
}

/** The result for each client, with one undo for all of them. */
function Results({ results }: { results: TakeoverResult[] }) {
  const [asking, setAsking] = useState(false);
  const undo = useUndoTakeover((failed) => {
    setAsking(false);
    if (failed.length === 0) toast('ok', 'All files restored.');
    else
      toast(
        'bad',
        `${
          failed.length === 1
            ? '1 client could not be restored.'
            : `${failed.length} clients could not be restored.`
        } ${short(failed[0]?.error ?? '')}`,
      );
  });
  const done = results.filter((one) => one.error === '');
  const servers = texts.connections.servers(done.reduce((sum, one) => sum + one.servers, 0));
  return (
    <section aria-label="Results by client" className="rounded-lg border bg-panel shadow-card">
      <div role="status">
        <ul>
          {results.map((one) => (
            <li key={one.key} className="flex items-start gap-2.5 border-b px-4 py-2 text-sm">
              {one.error ? (
                <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
              ) : (
                <CircleCheck className="mt-0.5 size-4 shrink-0 text-ok" aria-hidden />
              )}
              <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                <span className="font-medium">{short(one.name, 200)}</span>{' '}
                <span className={one.error ? 'block text-bad' : 'text-ink2'}>
                  {one.error
                    ? `Not changed: ${short(one.error, 1000)}`
                    : `${texts.connections.servers(one.servers)} moved`}
                </span>
              </span>
            </li>
          ))}
        </ul>
      </div>
      {done.length > 0 && (
        <div className="flex justify-end px-4 py-2.5">
          <Button disabled={undo.isPending} onClick={() => setAsking(true)}>
            <Undo2 className="size-4" aria-hidden />
            Undo
          </Button>
        </div>
      )}
      {asking && (
        <Confirm
          title={`Undo the move of ${servers}?`}
          action="Undo"
          of={undo}
          onConfirm={() => undo.mutate(done.map((one) => one.key))}
          onClose={() => setAsking(false)}
        >
          {`The files of ${new Intl.ListFormat('en').format(done.map((one) => short(one.name, 100)))} get their servers back, which are removed from Drawbridge. Other changes to these files, and servers that were changed in Drawbridge, stay.`}
        </Confirm>
      )}
    </section>
  );
}
