import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useId, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { isStrings, Pairs } from '@/components/config-fields';
import { LinesField, TextField } from '@/components/text-field';
import { setEdit } from '@/lib/config-edits';
import { configQuery } from '@/lib/config-file';
import { escapeControlCharacters, wellFormed } from '@/lib/format';
import { lazyChunk } from '@/lib/lazy-chunk';
import { isRecord } from '@/lib/own-property';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';
import { toast, useLocalToast } from '@/lib/toast';
import type { Edit } from '@/types/api';
import {
  accountsIn,
  credentialsOf,
  type Fault,
  faultOf,
  faultOfName,
  missingNames,
  secretOfAccount,
  signsIn,
  usersOf,
} from './accounts';
import { AccountSignIn } from './sign-in';

const words = {
  name: 'New account',
  remove: 'Remove',
};

const loadRename = lazyChunk(() => import('./rename-account'));
const RenameAccount = lazy(async () => ({ default: (await loadRename()).RenameAccount }));

interface Props {
  server: string;
  /** The name of the server in the file. */
  label: string;
  /** The entry in the file. */
  saved: unknown;
  value: Record<string, unknown>;
  faults: Fault[];
  set: (path: string[], to: unknown) => void;
  onEdit: (edit: Edit) => void;
  onTakeBack: (edit: Edit, otherwise: Edit) => void;
}

/** The accounts of a server: their credentials, who chooses them, and their sign-ins. */
export function AccountFields(props: Props) {
  const { server, value, set, onEdit, onTakeBack } = props;
  const [name, setName] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const say = useLocalToast();
  const { data } = useQuery(profilesQuery);
  const all = isRecord(value.accounts) ? value.accounts : {};
  const names = Object.keys(all);
  const fault = faultOfName(name.trim(), names);
  const add = () => {
    if (name.trim() === '' || fault) return;
    set(['accounts', name.trim()], {});
    setName('');
    input.current?.focus();
  };
  const remove = (account: string) => {
    const { profiles, clients } = usersOf(data, server, account);
    if (profiles.length + clients.length > 0) {
      toast(
        'bad',
        `${escapeControlCharacters(account)} cannot be removed while a profile or client uses it. Choose another account there first.`,
      );
      return;
    }
    const removal = setEdit(['accounts', ...(names.length > 1 ? [account] : [])], undefined);
    onEdit(removal);
    input.current?.focus();
    say('ok', `Account ${escapeControlCharacters(account)} removed; save to apply.`, {
      text: texts.care.undo,
      run: () => onTakeBack(removal, setEdit(['accounts', account], all[account])),
    });
  };
  return (
    <fieldset className="space-y-3">
      <legend className="mb-1 text-sm font-medium">Accounts</legend>
      <p className="text-xs text-ink3">
        Each account has its own credentials and sign-in. A profile, client or folder can set the
        account to use; all other calls use the account “default”, which has the server’s own
        credentials.
      </p>
      {names.length > 0 && (
        <ul className="space-y-3">
          {names.map((one) => (
            <li key={one}>
              <Account {...props} account={one} onRemove={() => remove(one)} />
            </li>
          ))}
        </ul>
      )}
      <div className="flex gap-2">
        <TextField
          ref={input}
          labelHidden
          label={words.name}
          fault={fault}
          placeholder={words.name}
          value={name}
          maxLength={64}
          onChange={setName}
          onKeyDown={(event) => {
            if (event.key === 'Enter') add();
          }}
          className="max-w-64 flex-1"
        />
        <Button disabled={name.trim() === '' || fault !== undefined} onClick={add}>
          <Plus className="size-3.5" aria-hidden />
          Add account
        </Button>
      </div>
    </fieldset>
  );
}

function Account({
  server,
  label,
  saved,
  value,
  faults,
  set,
  account,
  onRemove,
}: Props & { account: string; onRemove: () => void }) {
  const id = useId();
  const [renaming, setRenaming] = useState(false);
  const { data: config } = useQuery(configQuery);
  const own = accountsIn(value)[account] ?? {};
  const key = credentialsOf(value);
  const at = (...path: string[]) => ['accounts', account, ...path];
  const faultAt = (part?: string) => faultOf(faults, label, account, part);
  const missing = missingNames(value, own);
  const isSaved = account in accountsIn(saved);
  const signs = signsIn(isSaved ? saved : value, account);
  const name = escapeControlCharacters(account);
  const folders = own.folders === undefined ? [] : own.folders;
  return (
    <fieldset aria-labelledby={id} className="space-y-3 rounded-lg border p-3">
      <div className="flex flex-wrap items-center gap-2">
        <p id={id} className="mr-auto min-w-0 font-medium [overflow-wrap:anywhere]">
          {name}
        </p>
        <Button small aria-label={`Rename ${name}`} onClick={() => setRenaming(true)}>
          Rename
        </Button>
        <Button small look="danger" aria-label={`${words.remove} ${name}`} onClick={onRemove}>
          {words.remove}
        </Button>
      </div>
      {faultAt() && <p className="text-sm text-bad">{escapeControlCharacters(faultAt() ?? '')}</p>}
      <Users server={server} account={account} />
      {signs && isSaved && <AccountSignIn server={server} label={label} account={account} />}
      {signs && !isSaved && <p className="text-sm text-ink2">Save to sign in.</p>}
      <div>
        <Pairs
          title={key === 'env' ? 'Environment' : 'Headers'}
          add={key === 'env' ? 'New variable' : 'New header'}
          fault={faultAt(key)}
          secretOf={(one) =>
            secretOfAccount(label, account, one, [JSON.stringify(value), config?.text ?? ''])
          }
          value={own[key]}
          onSet={(one, to) => set(at(key, one), to)}
          onRemove={(one) => set(at(key, one), undefined)}
        />
        {missing.length > 0 && (
          <p className="mt-1 text-xs text-warn">
            {`Not set here, and not inherited from the server: ${escapeControlCharacters(missing.join(', '))}.`}
          </p>
        )}
      </div>
      {isStrings(folders) && (
        <LinesField
          label="Folders"
          hint="One absolute path per line. Clients that work in or below one of them use this account, unless they or their profile are set to another account."
          fault={faultAt('folders')}
          value={folders.join('\n')}
          onChange={(to) => set(at('folders'), to === '' ? undefined : to.split('\n'))}
        />
      )}
      {renaming && (
        <Suspense fallback={null}>
          <RenameAccount
            server={server}
            label={label}
            account={account}
            names={Object.keys(accountsIn(value))}
            signsIn={signs}
            blocked={JSON.stringify(value) !== JSON.stringify(saved)}
            onClose={() => setRenaming(false)}
          />
        </Suspense>
      )}
    </fieldset>
  );
}

/** The profiles and clients that choose an account. */
function Users({ server, account }: { server: string; account: string }) {
  const { data } = useQuery(profilesQuery);
  if (!data) return null;
  const { profiles, clients } = usersOf(data, server, account);
  const rows: [string, ReactNode[]][] = [
    [
      'Profiles',
      profiles.map((one) => (
        <Link
          key={one}
          to="/profiles/$name"
          params={{ name: wellFormed(one) }}
          search={{}}
          className="text-accent underline underline-offset-2"
        >
          {escapeControlCharacters(one)}
        </Link>
      )),
    ],
    [
      'Clients',
      clients.map((one) => <span key={one}>{escapeControlCharacters(one.slice(0, 100))}</span>),
    ],
  ];
  if (profiles.length + clients.length === 0)
    return <p className="text-sm text-ink3">Not used by any profile or client.</p>;
  return (
    <div className="text-sm">
      {rows.map(
        ([title, list]) =>
          list.length > 0 && (
            <p key={title} className="flex flex-wrap gap-x-2 [overflow-wrap:anywhere]">
              <span className="text-ink3">{title}</span>
              {list}
            </p>
          ),
      )}
    </div>
  );
}
