import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button } from '@/components/button';
import { SelectField } from '@/components/fields';
import { count, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { ClientSettings, Connection, Profile, Profiles } from '@/types/api';
import { AccountChoice, accountsByServer } from './account-choices';
import { useClientView, useUnsavedView } from './api';
import { type Entry, offers } from './profile-entry';

const modes = ['all', 'search', 'deferred'] as const;

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

/** What the entries of a client in its file point to; undefined if there are none. */
type Connected =
  | Pick<Connection, 'connected' | 'byServer' | 'moved' | 'own' | 'tokens' | 'modeReason'>
  | undefined;

/** What a client with settings pays: the size of its lists of tools in each mode, and its mode. */
function costOf({ items, clients }: Profiles, view: ClientSettings, connection: Connected) {
  const profile = items.find((one) => one.name === view.profile) ?? items[0];
  const wanted = view.toolMode || profile?.toolMode;
  const own = connection?.connected ? connection : undefined;
  // The entry for one server lists all tools with 'auto'.
  const auto = own?.byServer ? 'all' : view.chosen;
  const mode = modes.find((one) => one === (wanted === 'auto' ? auto : wanted)) ?? 'all';
  const isSaved = viewOf(clients, view.token).profile === view.profile;
  // The daemon knows what its entries list, but only with the profile that it has now.
  const sizes = own && isSaved ? own.tokens : own?.byServer ? undefined : profile?.tokens;
  return profile && { profile, mode, sizes, tokens: sizes?.[mode] };
}

/** The servers in the files of a connected client that it runs itself. */
const ownOf = (connection: Connected) => (connection?.connected && connection.own) || [];

/** The tokens that the lists of tools take up in each session of a client. */
export function ClientContext({ token, connection }: { token: string; connection: Connected }) {
  const { data } = useQuery(profilesQuery);
  const cost = data && costOf(data, viewOf(data.clients, token), connection);
  return (
    cost?.tokens !== undefined && (
      <span className="whitespace-nowrap" title={texts.tools.tokensHint}>
        Context {texts.tools.tokens(count(cost.tokens))}
        {ownOf(connection).length > 0 &&
          ` and ${texts.connections.servers(ownOf(connection).length)} of its own`}
      </span>
    )
  );
}

/** A tool with what its definition costs. */
interface CostedTool {
  server: string;
  tool: string;
  publicName: string;
  tokens: number;
}

/** Selects the profile and the accounts of a client, and how its tools are listed, each with its price. */
export function ClientAccess({
  token,
  tools,
  connection,
}: {
  token: string;
  tools: CostedTool[];
  connection: Connected;
}) {
  const labelOf = useServerName();
  const { data } = useQuery(profilesQuery);
  const change = useClientView();
  const unsaved = useUnsavedView(token);
  if (!data) return null;
  const view = unsaved ?? viewOf(data.clients, token);
  const cost = costOf(data, view, connection);
  const name = escapeControlCharacters(token.slice(0, 100));
  const priced = (text: string, tokens: number | undefined) =>
    tokens === undefined ? text : `${text} · ${texts.tools.tokens(count(tokens))}`;
  const sizes = cost?.sizes;
  const saved = sizes && cost.mode !== 'search' ? sizes[cost.mode] - sizes.search : 0;
  const byServer = connection?.connected && connection.byServer;
  const own = byServer ? [...new Set(connection.moved.map((one) => one.server))] : [];
  const offeredBy = (profile: Profile | undefined) =>
    tools
      .filter((one) => !byServer || own.includes(one.server))
      .filter((one) => offers((profile?.entry ?? {}) as Entry, one.server, one.tool));
  const without = (profile: Profile | undefined) =>
    profile?.everyServer === false ? own.filter((one) => !profile.servers.includes(one)) : [];
  const offered = offeredBy(cost?.profile);
  const dearest = offered.toSorted((a, b) => b.tokens - a.tokens).slice(0, 5);
  const sums = new Map<string, number>();
  for (const one of offered) sums.set(one.server, (sums.get(one.server) ?? 0) + one.tokens);
  const servers = [...sums].sort(([, a], [, b]) => b - a).slice(0, 5);
  return (
    <div className="space-y-3 text-sm">
      <div className="@container flex flex-wrap items-center gap-x-3 gap-y-2">
        <Labelled text="Profile">
          <SelectField
            narrows={false}
            label={`Profile for ${name}`}
            value={view.profile}
            options={data.items.map((one) => {
              const price = costOf(data, { ...view, profile: one.name }, connection);
              const sum = offeredBy(one).reduce((tokens, tool) => tokens + tool.tokens, 0);
              const tokens = price?.tokens ?? (price?.mode === 'all' ? sum : undefined);
              const missing = without(one).length;
              return {
                value: one.name,
                text: `${priced(one.name || 'No profile', tokens)}${missing ? `, without ${texts.connections.servers(missing)}` : ''}`,
              };
            })}
            onChange={(profile) => change.mutate({ ...view, profile })}
          />
          <Link
            to="/profiles"
            search={{ make: token }}
            className="text-accent underline underline-offset-2"
          >
            {texts.profiles.make}…
          </Link>
        </Labelled>
        <Labelled text="Tool listing">
          <SelectField
            narrows={false}
            label={`Tool listing for ${name}`}
            // Without a profile, the default is to list all.
            value={view.profile ? view.toolMode : view.toolMode || 'all'}
            options={[
              ...(view.profile ? [{ value: '', text: 'Profile default' }] : []),
              ...modes.map((value) => ({
                value,
                text: priced(texts.profiles.modes[value], sizes?.[value]),
              })),
              {
                value: 'auto',
                text: priced(
                  texts.profiles.modes.auto,
                  sizes?.[byServer ? 'all' : (view.chosen as 'all')], // known while it is in use
                ),
              },
            ]}
            onChange={(mode) =>
              change.mutate({ ...view, toolMode: view.profile || mode !== 'all' ? mode : '' })
            }
          />
        </Labelled>
        <p className="text-xs text-ink2">
          {escapeControlCharacters(
            (byServer && connection.modeReason) ||
              view.why ||
              texts.profiles.modeNotes[cost?.mode ?? 'all'],
          )}
        </p>
        {!byServer && (
          <>
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
            <Labelled text="Structured">
              <SelectField
                label={`Structured results for ${name}`}
                value={view.singleCopy ? 'once' : 'both'}
                options={[
                  { value: 'both', text: 'As sent' },
                  { value: 'once', text: 'Not if the text repeats them' },
                ]}
                onChange={(copies) => change.mutate({ ...view, singleCopy: copies === 'once' })}
              />
            </Labelled>
          </>
        )}
        {[...accountsByServer(data.accounts, view.accounts)].map(([server, accounts]) => {
          const label = escapeControlCharacters(labelOf(server).slice(0, 100));
          const { [server]: chosen = '', ...others } = view.accounts;
          return (
            <Labelled key={server} text={texts.profiles.accountOf(label)}>
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
      {ownOf(connection).length > 0 && (
        <p className="text-warn">
          {`It also pays for the servers in its own file, which are not counted here: ${ownOf(
            connection,
          )
            .map((one) => escapeControlCharacters(one.slice(0, 60)))
            .join(', ')}. `}
          <Link to="/welcome" className="underline underline-offset-2">
            Move them to Drawbridge…
          </Link>
        </p>
      )}
      {dearest.length > 0 && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-ink2">
          {cost?.mode === 'all' ? 'By server:' : 'By server, if all were listed:'}
          {servers.map(([server, sum]) => (
            <span key={server}>
              <Link
                to="/tools"
                search={{ q: server }}
                className="underline underline-offset-2 hover:text-ink"
              >
                {escapeControlCharacters(labelOf(server).slice(0, 60))}
              </Link>{' '}
              {count(sum)}
            </span>
          ))}
          {sizes && sizes.instructions > 0 && <span>instructions {count(sizes.instructions)}</span>}
          <span className="w-full" />
          Largest definitions:
          {dearest.map((one) => (
            <span key={one.publicName} className="max-w-full truncate">
              <Link
                to="/tools"
                search={{ tool: one.publicName }}
                className="underline underline-offset-2 hover:text-ink"
              >
                {escapeControlCharacters(
                  `${labelOf(one.server).slice(0, 60)} / ${one.tool.slice(0, 100)}`,
                )}
              </Link>{' '}
              {count(one.tokens)}
            </span>
          ))}
          {saved > 0 && (
            <Button
              small
              disabled={change.isPending}
              onClick={() => change.mutate({ ...view, toolMode: 'search' })}
            >
              {`List by search (saves ~${count(saved)} tokens)`}
            </Button>
          )}
        </p>
      )}
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
