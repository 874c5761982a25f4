import { useQuery } from '@tanstack/react-query';
import { Section } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { profilesQuery } from '@/lib/profiles-query';
import { useServerName } from '@/lib/server-lookup';
import { AccountChoice, accountOf, accountsByServer } from './account-choices';
import { chooseAccount, type Entry } from './profile-entry';

/** Chooses the accounts of the servers that have several. */
export function ProfileAccounts({
  entry,
  fault,
  onChange,
}: {
  entry: Entry;
  fault: string | undefined;
  onChange: (entry: Entry) => void;
}) {
  const labelOf = useServerName();
  const { data } = useQuery(profilesQuery);
  const known = accountsByServer(data?.accounts ?? [], entry.accounts ?? {});
  if (known.size === 0) return null;
  return (
    <Section title="Accounts">
      <p className="mb-2 text-xs text-ink3">
        If none is selected, the client’s folder determines the account. If no account matches the
        folder, “default” is used.
      </p>
      <ul className="space-y-2">
        {[...known].map(([server, accounts]) => {
          const label = escapeControlCharacters(labelOf(server).slice(0, 100));
          return (
            <li key={server} className="@container flex flex-wrap items-center gap-x-3 gap-y-1">
              <span
                aria-hidden
                className="min-w-0 flex-1 basis-40 text-sm [overflow-wrap:anywhere]"
              >
                {label}
              </span>
              <AccountChoice
                label={accountOf(label)}
                accounts={accounts}
                value={ownValue(entry.accounts ?? {}, server) ?? ''}
                onChange={(account) => onChange(chooseAccount(entry, server, account))}
              />
            </li>
          );
        })}
      </ul>
      {fault && <p className="mt-1 text-xs text-bad">{escapeControlCharacters(fault)}</p>}
    </Section>
  );
}
