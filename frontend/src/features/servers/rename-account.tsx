import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from '@/components/form-dialog';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { faultOfName, renameAccount, usersOf } from './accounts';
import { entryPath, useSaveEdits } from './review-and-add-server';

/** Renames an account in the file, at its server and at the profiles and clients that choose it. */
export function RenameAccount({
  server,
  label,
  account,
  names,
  signsIn,
  blocked,
  onClose,
}: {
  server: string;
  label: string;
  account: string;
  /** The names of all accounts of the server. */
  names: string[];
  signsIn: boolean;
  /** Whether the entry has unsaved changes. */
  blocked: boolean;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState(account);
  const { data } = useQuery(profilesQuery);
  const name = typed.trim();
  const others = names.filter((one) => one !== account);
  const fault = faultOfName(name, others);
  const save = useSaveEdits(`Account renamed to ${escapeControlCharacters(name)}.`);
  return (
    <FormDialog
      title={`Rename account ${escapeControlCharacters(account)}`}
      action="Rename"
      ready={!blocked && data !== undefined && name !== '' && name !== account && !fault}
      pending={save.isPending}
      error={save.error}
      onSubmit={() =>
        save.mutate(
          (file) => {
            const path = entryPath(file, label);
            const users = usersOf(data, server, account);
            return path && renameAccount(file, path, server, [account, name], users);
          },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      <p className="text-sm text-ink2">
        {blocked
          ? 'Save or discard your changes first.'
          : signsIn
            ? 'Profiles and clients that use it will be updated to use the new name. You must sign in to the renamed account again.'
            : 'Profiles and clients that use it will be updated to use the new name.'}
      </p>
      <TextField
        labelHidden
        label="Name"
        value={typed}
        maxLength={64}
        fault={fault}
        onChange={setTyped}
      />
    </FormDialog>
  );
}
