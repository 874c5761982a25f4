import { useQuery } from '@tanstack/react-query';
import { KeyRound, LockOpen, Plus, Trash2 } from 'lucide-react';
import { type Ref, useRef, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { TextField } from '@/components/text-field';
import { age, escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { messageOf } from '@/lib/request';
import { useSecret } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { secretsQuery, useUnlock } from './api';

/** The names of secrets and their users. A value can be set, but is never shown. */
export function SecretsPanel() {
  const { data, error } = useQuery(secretsQuery);
  const unlock = useUnlock();
  const [gone, setGone] = useState<string | undefined>(undefined);
  const [name, setName] = useState('');
  const value = useRef<HTMLInputElement>(null);
  const remove = useSecret();
  const now = useNow();
  if (error)
    return <p className="text-sm text-ink3">{escapeControlCharacters(messageOf(error))}</p>;
  if (!data) return <p className="text-sm text-ink3">{texts.loading}</p>;
  const list = data.items ?? [];
  const missing = data.missing ?? [];
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">
        {
          'To use a secret in a server’s configuration, write ${secret:NAME}. Values are encrypted and never shown.'
        }
      </p>
      {data.notice && <p className="text-sm text-warn">{escapeControlCharacters(data.notice)}</p>}
      {data.locked && (
        <Button disabled={unlock.isPending} onClick={() => unlock.mutate()}>
          <LockOpen className="size-4" aria-hidden />
          Unlock
        </Button>
      )}
      {(list.length > 0 || missing.length > 0) && (
        <ul className="overflow-hidden rounded-md border text-sm">
          {missing.map((wanted) => (
            <li
              key={`?${wanted}`}
              className="flex items-center gap-3 border-t px-3 py-2 first:border-t-0"
            >
              <KeyRound className="size-4 shrink-0 text-warn" aria-hidden />
              <span className="min-w-0 flex-1 truncate font-mono text-xs leading-5">
                {escapeControlCharacters(wanted)}
              </span>
              <span className="text-warn">required, not set</span>
              <Button
                small
                aria-label={texts.servers.remedy.setKey(escapeControlCharacters(wanted))}
                onClick={() => {
                  setName(wanted);
                  value.current?.focus();
                }}
              >
                Set…
              </Button>
            </li>
          ))}
          {list.map((one) => (
            <li
              key={one.name}
              className="flex items-center gap-3 border-t py-1 pr-1 pl-3 first:border-t-0"
            >
              <KeyRound className="size-4 shrink-0 text-ink3" aria-hidden />
              <span className="min-w-0 flex-1">
                <span className="block truncate font-mono text-xs">
                  {escapeControlCharacters(one.name)}
                </span>
                <span className="block truncate text-xs text-ink3">
                  {(one.servers ?? []).length > 0
                    ? `used by ${(one.servers ?? []).map((s) => escapeControlCharacters(s)).join(', ')}`
                    : 'not used'}
                </span>
              </span>
              <span className="text-xs text-ink3">{`set ${age(one.changedAt, now)} ago`}</span>
              <IconButton
                small
                label={`${texts.actions.delete} ${escapeControlCharacters(one.name)}`}
                onClick={() => setGone(one.name)}
              >
                <Trash2 className="size-3.5" aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {list.length + missing.length === 0 && <p className="text-sm text-ink3">No secrets yet.</p>}
      <NewSecret taken={list.map((one) => one.name)} {...{ name, setName }} ref={value} />
      {gone !== undefined && (
        <Confirm
          title={`Delete secret ${escapeControlCharacters(gone)}?`}
          action={texts.actions.delete}
          of={remove}
          onClose={() => setGone(undefined)}
          onConfirm={() =>
            remove.mutate({ name: gone, value: undefined }, { onSuccess: () => setGone(undefined) })
          }
        >
          Servers that use it cannot start without it.
        </Confirm>
      )}
    </div>
  );
}

function NewSecret({
  taken,
  name,
  setName,
  ref,
}: {
  taken: string[];
  name: string;
  setName: (name: string) => void;
  /** The field of the value. */
  ref: Ref<HTMLInputElement>;
}) {
  const [value, setValue] = useState('');
  const [replacing, setReplacing] = useState(false);
  const save = useSecret();
  const sound = /^[A-Za-z0-9][A-Za-z0-9._/@-]{0,199}$/.test(name);
  const set = () =>
    save.mutate(
      { name, value },
      {
        onSuccess: () => {
          toast('ok', `${name} saved. Servers that use it are restarting.`);
          setName('');
          setValue('');
        },
        onError: toastError,
        onSettled: () => setReplacing(false),
      },
    );
  return (
    <>
      <form
        className="flex flex-wrap items-start gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (taken.includes(name)) setReplacing(true);
          else set();
        }}
      >
        <TextField
          label="Name"
          value={name}
          maxLength={200}
          fault={
            name === '' || sound
              ? undefined
              : 'Use letters, digits and . _ / @ -, and begin with a letter or digit.'
          }
          onChange={setName}
          className="min-w-0 flex-1 basis-40"
        />
        <TextField
          label="Value"
          ref={ref}
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={setValue}
          className="min-w-0 flex-1 basis-40"
        />
        <Button type="submit" className="mt-6" disabled={!sound || value === '' || save.isPending}>
          <Plus className="size-4" aria-hidden />
          Save secret
        </Button>
      </form>
      {replacing && (
        <Confirm
          title={`Replace secret ${escapeControlCharacters(name)}?`}
          action="Replace"
          pending={save.isPending}
          onClose={() => setReplacing(false)}
          onConfirm={set}
        >
          Its current value will be lost.
        </Confirm>
      )}
    </>
  );
}
