import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { SelectField } from '@/components/fields';
import { count, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { ClientSettings } from '@/types/api';
import { AccountChoice, accountsByServer } from './account-choices';
import { useClientView } from './api';

const t = texts.profiles;

/** The settings of a token; by default there is no restriction. */
export const viewOf = (views: ClientSettings[], token: string): ClientSettings =>
  views.find((view) => view.token === token) ?? {
    token,
    profile: '',
    toolMode: '',
    maxResultTokens: 0,
    singleCopy: false,
    accounts: {},
    chosen: '',
    why: '',
  };

/** Selects the profile and the accounts of a client, and how its tools are listed. */
export function ClientAccess({ token }: { token: string }) {
  const labelOf = useServerName();
  const { data } = useQuery(profilesQuery);
  const change = useClientView();
  if (!data) return null;
  const profiles = data.items.filter((p) => p.name).map((p) => ({ value: p.name, text: p.name }));
  const view = viewOf(data.clients, token);
  const name = escapeControlCharacters(token.slice(0, 100));
  return (
    <div className="@container flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
      <Labelled text="Profile">
        <SelectField
          narrows={false}
          label={`Profile for ${name}`}
          value={view.profile}
          options={[{ value: '', text: 'No profile' }, ...profiles]}
          onChange={(profile) => change.mutate({ ...view, profile })}
        />
      </Labelled>
      <Labelled text={t.mode}>
        <SelectField
          narrows={false}
          label={`Tool listing for ${name}`}
          value={view.toolMode}
          options={[
            { value: '', text: 'Profile default' },
            ...(['all', 'search', 'deferred', 'auto'] as const).map((value) => ({
              value,
              text: t.modes[value],
            })),
          ]}
          onChange={(toolMode) =>
            change.mutate({ ...view, toolMode: toolMode as ClientSettings['toolMode'] })
          }
        />
      </Labelled>
      {view.why && <p className="text-xs text-ink2">{view.why}</p>}
      <Labelled text="Result limit">
        <SelectField
          label={`Result limit for ${name}`}
          value={String(view.maxResultTokens)}
          options={resultLimits(view.maxResultTokens).map((limit) => ({
            value: String(limit),
            text: limit ? `First ${count(limit)} tokens` : 'No limit',
          }))}
          onChange={(limit) => change.mutate({ ...view, maxResultTokens: Number(limit) })}
        />
      </Labelled>
      {[...accountsByServer(data.accounts, view.accounts)].map(([server, accounts]) => {
        const label = escapeControlCharacters(labelOf(server).slice(0, 100));
        const { [server]: chosen = '', ...others } = view.accounts;
        return (
          <Labelled key={server} text={t.accountOf(label)}>
            <AccountChoice
              label={`${label} account for ${name}`}
              accounts={accounts}
              value={chosen}
              onChange={(account) =>
                change.mutate({
                  ...view,
                  accounts: account ? { ...others, [server]: account } : others,
                })
              }
            />
          </Labelled>
        );
      })}
    </div>
  );
}

/** The limits to choose from, and the current one, in tokens; 0 is none. */
const resultLimits = (current: number) =>
  [...new Set([0, 2000, 5000, 10000, 25000, current])].sort((a, b) => a - b);

/** A visible label, hidden from screen readers: the control has its own name. */
function Labelled({ text, children }: { text: string; children: ReactNode }) {
  return (
    <span className="flex min-w-0 items-center gap-2 @max-2xl:basis-full">
      <span className="w-20 shrink-0 text-ink3 @2xl:w-auto" aria-hidden>
        {text}
      </span>
      {children}
    </span>
  );
}
