import { SelectField } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import type { AccountUse } from '@/types/api';

/** The accounts of each server that has several, and those that are chosen although they are gone. */
export function accountsByServer(all: AccountUse[], chosen: Record<string, string>) {
  const known = new Map<string, string[]>();
  for (const { server, account } of all) known.set(server, [...(known.get(server) ?? []), account]);
  for (const [server, account] of Object.entries(chosen))
    known.set(server, [...new Set([...(known.get(server) ?? []), account])]);
  return known;
}

export const accountOf = (server: string) => `${server} account`;

/** Selects the account of a server; "" is no choice. */
export function AccountChoice({
  label,
  accounts,
  value,
  onChange,
}: {
  label: string;
  accounts: string[];
  value: string;
  onChange: (account: string) => void;
}) {
  return (
    <SelectField
      label={label}
      narrows={false}
      value={value}
      options={[
        { value: '', text: 'Not set' },
        ...accounts.map((one) => ({ value: one, text: escapeControlCharacters(one) })),
      ]}
      onChange={onChange}
    />
  );
}
