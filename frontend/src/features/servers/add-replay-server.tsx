import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DateTimeField } from '@/components/date-time-field';
import { SelectChevron } from '@/components/fields';
import { FormDialog } from '@/components/form-dialog';
import { CheckBox, inputClasses, TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { profilesQuery } from '@/lib/profiles-query';
import { toast } from '@/lib/toast';
import { serversQuery, useServerLabel } from './api';
import {
  addTexts,
  freeName,
  idOf,
  nameFault,
  toServerName,
  useAddServers,
} from './review-and-add-server';

const serveTexts = withoutPrototypes({
  periods: ['All', 'Last hour', 'Last 24 hours', 'Last 7 days', 'Custom…'],
  missesOptions: {
    strict: 'Fail',
    nearest: 'Return the most similar result',
    passthrough: 'Forward to the real server',
  },
} as const);

const t = serveTexts;
const hour = 3_600_000;

/** The age of the calls to serve if no session is selected; 0 is unlimited, -1 a range of two times. */
const periods = [0, hour, 24 * hour, 7 * 24 * hour, -1];

/** Adds servers that replay the recorded calls of a session or of a server. */
export function AddReplayServer({
  recorded,
  session,
  onClose,
}: {
  /** The ids of the servers with calls that can be served. */
  recorded: string[];
  session?: string;
  onClose: () => void;
}) {
  const labelOf = useServerLabel();
  const { data: servers } = useQuery(serversQuery);
  const { data: profiles } = useQuery(profilesQuery);
  const accountsOf = (server: string) =>
    (profiles?.accounts ?? []).filter((one) => one.server === server).map((one) => one.account);
  const [accounts, setAccounts] = useState<Record<string, string>>({});
  const taken = new Set(servers?.map((server) => idOf(server.id)));
  const [names, setNames] = useState<Record<string, string>>({});
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [period, setPeriod] = useState(0);
  const [since, setSince] = useState<string>();
  const [until, setUntil] = useState<string>();
  const [misses, setMisses] = useState('strict');
  const [realtime, setRealtime] = useState(false);
  const own = period < 0;
  const nameOf = (server: string) =>
    ownValue(names, server) ??
    freeName(`${toServerName(labelOf(server)).slice(0, 23)}-replayed`, taken);
  const wanted = recorded.filter((server) => !left.has(server));
  const faultOf = (server: string) => {
    const name = nameOf(server);
    const others = wanted.filter((one) => one !== server).map((one) => idOf(nameOf(one)));
    return nameFault(name, new Set([...taken, ...others]));
  };
  const add = useAddServers((added, undo) => {
    toast('ok', addTexts.added(added), undo);
    onClose();
  });
  const submit = () => {
    const from =
      period > 0 ? { since: new Date(Date.now() - period).toISOString() } : own && { since, until };
    add.mutate(
      wanted.map((server) => ({
        name: nameOf(server),
        entry: JSON.stringify(
          {
            type: 'replay',
            from: {
              server,
              ...(session !== undefined && { session }),
              ...(ownValue(accounts, server) && { account: ownValue(accounts, server) }),
              ...from,
            },
            ...(misses !== 'strict' && { misses }),
            ...(realtime && { realtime }),
          },
          null,
          2,
        ),
      })),
    );
  };
  const backwards = own && since !== undefined && until !== undefined && since >= until;
  const ready =
    wanted.length > 0 && !backwards && wanted.every((server) => faultOf(server) === undefined);
  return (
    <FormDialog
      title="Serve recorded session"
      action="Add"
      ready={ready}
      pending={add.isPending}
      error={add.error}
      long
      onSubmit={submit}
      onClose={onClose}
      className="max-w-lg"
    >
      <p className="text-sm text-ink2">
        {session === undefined
          ? 'Adds a server that returns the recorded results of this one. The real server is not called.'
          : 'Adds servers that return the recorded results of this session. The real servers are not called.'}
      </p>
      {recorded.map((server) => {
        const fault = left.has(server) ? undefined : faultOf(server);
        const label = escapeControlCharacters(labelOf(server).slice(0, 200));
        return (
          <div key={server} className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
            <span className="flex min-w-32 flex-1 items-center gap-2 [overflow-wrap:anywhere]">
              {recorded.length > 1 && (
                <input
                  type="checkbox"
                  aria-label={addTexts.include(label)}
                  checked={!left.has(server)}
                  onChange={() =>
                    setLeft((old) => {
                      const next = new Set(old);
                      if (!next.delete(server)) next.add(server);
                      return next;
                    })
                  }
                  className="size-4 shrink-0 accent-accent"
                />
              )}
              {label}
            </span>
            <TextField
              labelHidden
              label={`Name of the server that replays ${label}`}
              value={nameOf(server)}
              fault={fault}
              disabled={left.has(server)}
              onChange={(name) => setNames({ ...names, [server]: name })}
              className="w-56 max-w-full"
            />
            {accountsOf(server).length > 0 && !left.has(server) && (
              <div className="w-full pt-2">
                <Choice
                  label={`${label} account`}
                  value={ownValue(accounts, server) ?? ''}
                  options={[
                    ['', 'Automatic, if only one account was used'],
                    ...accountsOf(server).map((name): [string, string] => [
                      name,
                      escapeControlCharacters(name),
                    ]),
                  ]}
                  onChange={(account) => setAccounts({ ...accounts, [server]: account })}
                />
              </div>
            )}
          </div>
        );
      })}
      {session === undefined && (
        <Choice
          label="Recorded calls"
          value={String(period)}
          options={periods.map((value, at) => [String(value), t.periods[at] ?? ''])}
          onChange={(value) => setPeriod(Number(value))}
        />
      )}
      {own && (
        <div className="flex flex-wrap gap-x-3 gap-y-2">
          <DateTimeField label="From" value={since} onChange={setSince} />
          <DateTimeField label="To" value={until} onChange={setUntil} />
          {backwards && (
            <p role="alert" className="w-full text-xs text-bad">
              The end must be after the start.
            </p>
          )}
        </div>
      )}
      <Choice
        label="Requests without a recorded result"
        value={misses}
        options={Object.entries(t.missesOptions)}
        onChange={setMisses}
      />
      <CheckBox
        label="Respond with the recorded delays and progress"
        checked={realtime}
        onChange={setRealtime}
      />
    </FormDialog>
  );
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: [value: string, text: string][];
  onChange: (value: string) => void;
}) {
  return (
    <label className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      <span className="min-w-32 flex-1">{label}</span>
      <span className="relative w-56 max-w-full">
        <select
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={`${inputClasses} h-8 appearance-none truncate pr-8`}
        >
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
        <SelectChevron />
      </span>
    </label>
  );
}
