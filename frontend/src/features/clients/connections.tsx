import { useQuery } from '@tanstack/react-query';
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  Link2,
  LoaderCircle,
  TriangleAlert,
} from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { FoldedDiff } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { Loading } from '@/components/page';
import { CheckBox } from '@/components/text-field';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters, sentence } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Connection, ConnectionPlan } from '@/types/api';
import {
  type Choice,
  connectionStates,
  importableQuery,
  outsideHome,
  planQuery,
  useConnect,
  useConnectionAction,
} from './api';
import { ConfirmOutside } from './confirm-outside';
import { Disconnect, disconnect } from './disconnect';
import { Importable } from './importable-servers';
import { httpInstead, ManualSetup } from './manual-setup';
import { Notes } from './notes';

const forgetTitle = (client: string) => `Stop tracking ${client}?`;

const forgetBody = (path: string) =>
  `${path} will not be changed, but Drawbridge will no longer be able to restore the original. Backups of the file stay in the data folder.`;

const t = {
  live: (n: number) => `Working, ${texts.servers.tools(n)} visible`,
  liveUnlisted: 'Working',
  connectedIdle: (client: string) => `Set up, restart ${client}`,
  notUsed: 'Set up, not used yet',
  byHand: 'Connected without this file',
  leaving: (client: string) => `Disconnected, in use until ${client} restarts`,
  forget: 'Stop tracking',
  write: (moved: number) =>
    moved > 0 ? `Apply, move ${moved === 1 ? '1 server' : `${moved} servers`}` : 'Apply',
  connected: (client: string, reload: string) =>
    reload ? `${client} connected. ${reload}` : `${client} connected.`,
  done: {
    restore: (client: string) => `${client} entry restored.`,
    forget: (client: string) => `${client} is no longer tracked.`,
  },
};

const looks = {
  connected: { icon: CircleCheck, color: 'text-ok' },
  notConnected: { icon: Link2, color: 'text-ink3' },
  vanished: { icon: TriangleAlert, color: 'text-warn' },
  changed: { icon: TriangleAlert, color: 'text-warn' },
  unreadable: { icon: CircleAlert, color: 'text-bad' },
};

/** One connection as a list item. */
export function ConnectionRow({ connection, online }: { connection: Connection; online: boolean }) {
  return (
    <li className="border-t px-4 py-3 first:border-t-0">
      <ConnectionState connection={connection} online={online} named />
    </li>
  );
}

/** The state of our entry in a client's file, with actions to connect (after a diff) and undo. */
export function ConnectionState({
  connection,
  named = false,
  online = false,
  connecting = false,
  facts,
}: {
  connection: Connection;
  /** Whether the name is shown; it is omitted for a second file of the same client. */
  named?: boolean;
  /** Whether the client is online, perhaps with an entry elsewhere. */
  online?: boolean;
  /** Whether its form is open at first. */
  connecting?: boolean;
  /** Other facts about the client. */
  facts?: ReactNode;
}) {
  const [open, setOpen] = useState<'connect' | 'hand' | undefined>(
    connecting ? 'connect' : undefined,
  );
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (connecting) row.current?.scrollIntoView({ block: 'start' });
  }, [connecting]);
  const toggle = (what: 'connect' | 'hand') => setOpen((old) => (old === what ? undefined : what));
  const [asking, setAsking] = useState<'undo' | 'forget' | undefined>(undefined);
  const action = useConnectionAction(connection);
  const isIdle = connection.state === 'connected' && connection.live === false && !online;
  const look = isIdle
    ? { icon: CircleDashed, color: connection.reloads ? 'text-ink2' : 'text-warn' }
    : (ownValue(looks, connection.state) ?? looks.notConnected);
  const Icon = look.icon;
  const problem = sentence(escapeControlCharacters((connection.problem ?? '').slice(0, 1000)));
  const act = (name: 'restore' | 'forget') =>
    action.mutate(name, {
      onSuccess: () => toast('ok', t.done[name](connection.name)),
      onError: toastError,
      onSettled: () => setAsking(undefined),
    });
  return (
    <>
      <div ref={row} className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-52 max-sm:basis-full">
          {named && (
            <h3 className="font-semibold [overflow-wrap:anywhere]">
              {escapeControlCharacters(connection.name.slice(0, 200))}
            </h3>
          )}
          {facts}
          <p className="font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
            {escapeControlCharacters(connection.project || connection.path)}
          </p>
        </div>
        <span className={classes('flex items-center gap-1.5 text-sm font-medium', look.color)}>
          <Icon className="size-4 shrink-0" aria-hidden />
          {connection.state === 'connected' && connection.live
            ? connection.tools === 0 && connection.offered > 0
              ? t.liveUnlisted // it has not read its list since Drawbridge started
              : t.live(connection.offered)
            : isIdle
              ? connection.reloads
                ? t.notUsed
                : t.connectedIdle(escapeControlCharacters(connection.name.slice(0, 100)))
              : connection.state === 'notConnected' && online
                ? connection.leftAt
                  ? t.leaving(escapeControlCharacters(connection.name.slice(0, 100)))
                  : t.byHand
                : (connectionStates[connection.state] ?? escapeControlCharacters(connection.state))}
        </span>
        <span className="flex gap-2">
          {connection.state === 'notConnected' && (
            <Button aria-expanded={open === 'connect'} onClick={() => toggle('connect')}>
              {open === 'connect' ? texts.actions.close : 'Connect…'}
            </Button>
          )}
          {(connection.state === 'notConnected' || connection.state === 'unreadable') && (
            <Button look="quiet" aria-expanded={open === 'hand'} onClick={() => toggle('hand')}>
              Manual setup…
            </Button>
          )}
          {(connection.state === 'vanished' || connection.state === 'changed') && (
            <>
              <Button disabled={action.isPending} onClick={() => act('restore')}>
                Restore entry
              </Button>
              <Button disabled={action.isPending} onClick={() => setAsking('forget')}>
                {t.forget}
              </Button>
            </>
          )}
          {connection.connected && (
            <Button look="quiet" disabled={action.isPending} onClick={() => setAsking('undo')}>
              {disconnect}
            </Button>
          )}
        </span>
      </div>
      {problem && (
        <p className="mt-1 text-sm text-bad [overflow-wrap:anywhere]">
          {connection.state === 'unreadable'
            ? `${problem.replace(/\.$/, '')}. Fix the file, then reload this page.`
            : problem}
        </p>
      )}
      {connection.state === 'connected' && connection.next && !connection.live && !online && (
        <p className="mt-1 text-sm text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(connection.next.slice(0, 400))}
        </p>
      )}
      {(connection.warnings ?? []).map((warning) => (
        <p key={warning} className="mt-1 flex gap-2 text-sm text-warn">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            {escapeControlCharacters(warning.slice(0, 400))}
          </span>
        </p>
      ))}
      {open === 'connect' && connection.state === 'notConnected' && (
        <ConnectForm connection={connection} onDone={() => setOpen(undefined)} />
      )}
      {open === 'hand' && connection.state === 'notConnected' && (
        <ManualSetup connection={connection} />
      )}
      {asking === 'undo' && (
        <Disconnect connection={connection} onClose={() => setAsking(undefined)} />
      )}
      {asking === 'forget' && (
        <Confirm
          title={forgetTitle(escapeControlCharacters(connection.name.slice(0, 200)))}
          action={t.forget}
          pending={action.isPending}
          onConfirm={() => act('forget')}
          onClose={() => setAsking(undefined)}
        >
          {forgetBody(escapeControlCharacters(connection.path))}
        </Confirm>
      )}
    </>
  );
}

/** Shows the exact changes of the client's file before they are written. */
function ConnectForm({ connection, onDone }: { connection: Connection; onDone: () => void }) {
  // The decision must not depend on stale data from an earlier visit.
  const importable = useQuery({ ...importableQuery(connection.key), refetchOnMount: 'always' });
  if (!importable.isFetchedAfterMount) return <Loading />;
  // A client that also kept its own servers would have them twice.
  const movable = (importable.data ?? []).filter((one) => !one.skipReason).length;
  return <ChosenConnect connection={connection} movable={movable} onDone={onDone} />;
}

function ChosenConnect({
  connection,
  movable,
  onDone,
}: {
  connection: Connection;
  /** The number of its own servers that can be moved. */
  movable: number;
  onDone: () => void;
}) {
  const [choice, setChoice] = useState<Choice>({ http: false, move: movable > 0 });
  const connect = useConnect(connection, (done) => {
    toast('ok', escapeControlCharacters(t.connected(connection.name, done.reload)));
    onDone();
  });
  // Once its servers are moved, there is nothing to plan.
  const plan = useQuery({
    ...planQuery(connection, choice),
    enabled: !connect.isPending && !connect.isSuccess,
  });
  const [asking, setAsking] = useState<ConnectionPlan | undefined>(undefined);
  const write = (confirmed: ConnectionPlan) => {
    setAsking(undefined);
    connect.mutate({ choice, plan: confirmed });
  };
  return (
    <div className="mt-3 space-y-3 border-t pt-3">
      {asking && (
        <ConfirmOutside
          files={outsideHome(asking)}
          onConfirm={() => write(asking)}
          onClose={() => setAsking(undefined)}
        />
      )}
      <div className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
        <CheckBox
          label="Move its servers to Drawbridge"
          checked={choice.move}
          onChange={(move) => setChoice((old) => ({ ...old, move }))}
        />
        {choice.move && (
          <CheckBox
            label="One entry for all servers; tool names change"
            checked={choice.singleEntry ?? false}
            onChange={(singleEntry) => setChoice((old) => ({ ...old, singleEntry }))}
          />
        )}
        {connection.supportsHttp && (
          <CheckBox
            label={httpInstead}
            checked={choice.http}
            onChange={(http) => setChoice((old) => ({ ...old, http }))}
          />
        )}
      </div>
      {choice.move && (
        <Importable
          connection={connection.key}
          chosen={choice.servers}
          onChange={(servers) => setChoice((old) => ({ ...old, servers }))}
        />
      )}
      {plan.isPending && <Loading />}
      <Failure error={plan.error} />
      {plan.data && (
        <>
          {(plan.data.warnings ?? []).map((warning) => (
            <p key={warning} className="flex gap-2 text-sm text-warn">
              <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
              <span className="min-w-0 [overflow-wrap:anywhere]">
                {escapeControlCharacters(warning)}
              </span>
            </p>
          ))}
          <Notes notes={plan.data.notes} />
          <FoldedDiff
            diff={plan.data.diff}
            of={escapeControlCharacters(connection.name)}
            label={`Changes to the configuration of ${connection.name}`}
          />
          <Failure error={connect.error} />
          <Button
            look="primary"
            data-apply
            disabled={connect.isPending || plan.isFetching}
            onClick={() => (plan.data.outside ? setAsking(plan.data) : write(plan.data))}
          >
            {connect.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {t.write(choice.move ? (choice.servers?.length ?? movable) : 0)}
          </Button>
        </>
      )}
    </div>
  );
}
