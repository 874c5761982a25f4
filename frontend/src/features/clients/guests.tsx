import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { SelectField } from '@/components/fields';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { guestsQuery } from '@/lib/guests-query';
import { profilesQuery } from '@/lib/profiles-query';
import { request } from '@/lib/request';
import { toast } from '@/lib/toast';
import type { Guest, GuestInputBody } from '@/types/api';

const approvals = {
  ask: 'Ask for each call',
  destructive: 'Ask unless read-only',
  never: 'Do not ask',
  deny: 'Deny all calls',
};

/** Clients in containers and on other hosts: adds, explains and removes them. */
export function GuestsPanel() {
  const { data: guests = [], error } = useQuery(guestsQuery);
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">
        A guest is a client in a container or on another host. It uses the servers of this machine
        through a socket of its own; no port is opened.
      </p>
      <Failure error={error} />
      {guests.length > 0 && (
        <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
          {guests.map((guest) => (
            <GuestRow key={guest.name} guest={guest} />
          ))}
        </ul>
      )}
      <AddGuest />
    </div>
  );
}

function GuestRow({ guest }: { guest: Guest }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => request('DELETE', `/api/v1/guests/${encodeURIComponent(guest.name)}`),
    onSuccess: () => {
      setAsking(false);
      toast('ok', 'Guest removed.');
    },
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['guests'] });
      client.invalidateQueries({ queryKey: ['clients'] });
    },
  });
  return (
    <li className="space-y-1 border-t px-4 py-2.5 first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-3">
        <h3 className="min-w-0 flex-1 truncate font-semibold">{guest.name}</h3>
        <span className="text-sm text-ink2">
          {guest.profile ? escapeControlCharacters(guest.profile) : 'All servers'} ·{' '}
          {approvals[guest.approval]}
        </span>
        <Button small look="danger" onClick={() => setAsking(true)}>
          Remove
        </Button>
      </div>
      {guest.problem && (
        <p className="text-sm text-warn">{escapeControlCharacters(guest.problem)}</p>
      )}
      <details className="text-sm">
        <summary className="w-fit cursor-pointer text-ink2">
          Set up<span className="sr-only"> {guest.name}</span>
        </summary>
        <div className="space-y-2 pt-2">
          {guest.setup.map(({ title, text }) => (
            <CopyField key={title} titled text={text} label={title} />
          ))}
          <p className="text-ink2">
            The folder of the guest contains its token: mount it in no other container.
          </p>
        </div>
      </details>
      {asking && (
        <Confirm
          title={`Remove the guest ${guest.name}?`}
          action="Remove"
          of={remove}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate()}
        >
          <p>Its connections and calls end immediately, and its access token is revoked.</p>
        </Confirm>
      )}
    </li>
  );
}

function AddGuest() {
  const client = useQueryClient();
  const { data: profiles } = useQuery(profilesQuery);
  const [name, setName] = useState('');
  const [profile, setProfile] = useState('');
  const [approval, setApproval] = useState('ask');
  const add = useMutation({
    mutationFn: (body: GuestInputBody) => request<Guest>('POST', '/api/v1/guests', { body }),
    onSuccess: () => setName(''),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['guests'] });
      client.invalidateQueries({ queryKey: ['clients'] });
    },
  });
  const valid = /^[a-z0-9][a-z0-9-]{0,31}$/.test(name);
  return (
    <form
      className="space-y-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (valid && !add.isPending)
          add.mutate({
            name,
            profile,
            approval: approval as NonNullable<GuestInputBody['approval']>,
          });
      }}
    >
      <div className="flex max-w-2xl flex-wrap items-end gap-2">
        <TextField
          label="Guest name"
          value={name}
          maxLength={32}
          aria-invalid={name !== '' && !valid}
          onChange={setName}
          className="min-w-0 flex-1 basis-40"
        />
        <SelectField
          label="Tools"
          value={profile}
          onChange={setProfile}
          narrows={false}
          options={[
            { value: '', text: 'All servers' },
            ...(profiles?.items ?? [])
              .filter((one) => one.name !== '')
              .map((one) => ({ value: one.name, text: one.name })),
          ]}
        />
        <SelectField
          label="Approval"
          value={approval}
          onChange={setApproval}
          narrows={false}
          options={(['ask', 'destructive', 'never'] as const).map((value) => ({
            value,
            text: approvals[value],
          }))}
        />
        <Button type="submit" disabled={!valid || add.isPending}>
          <Plus className="size-4" aria-hidden />
          Add guest
        </Button>
      </div>
      <Failure error={add.error} />
    </form>
  );
}
