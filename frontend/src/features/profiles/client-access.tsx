import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { ContextByServer, type CostedTool } from '@/components/context-by-server';
import { SelectField } from '@/components/fields';
import { count, escapeControlCharacters, wellFormed } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { ClientSettings, Connection, Profile, ToolMode } from '@/types/api';
import { AccountChoice, accountOf, accountsByServer } from './account-choices';
import { clientCostsQuery, useClientView, useUnsavedView } from './api';
import { autoIs, modeNames, modeNotes } from './tool-mode-choice';

const modes = ['all', 'search', 'deferred', 'auto'] as const;

/** The settings of a token; by default there is no restriction. */
export const viewOf = (views: ClientSettings[], token: string): ClientSettings =>
  views.find((view) => view.token === token) ?? {
    token,
    profile: '',
    toolMode: '',
    maxResultTokens: 0,
    singleCopy: false,
    accounts: {},
  };

/** What the entries of a client in its file point to; undefined if there are none. */
type Connected =
  | Pick<
      Connection,
      'name' | 'connected' | 'byServer' | 'own' | 'tokens' | 'toolMode' | 'maxTools' | 'offered'
    >
  | undefined;

/** How the tools of a client with these settings are listed. */
const modeOf = (view: ClientSettings, profile: Profile | undefined): ToolMode =>
  (view.toolMode as ToolMode) || profile?.toolMode || 'all';

/** The tokens that the lists of tools take up in each session of a client. */
export function ClientContext({ token, connection }: { token: string; connection: Connected }) {
  const { data } = useQuery(profilesQuery);
  if (!data) return null;
  const view = viewOf(data.clients, token);
  const profile = data.items.find((one) => one.name === view.profile) ?? data.items[0];
  const tokens = connection?.connected ? connection.tokens : profile?.tokens[modeOf(view, profile)];
  const own = connection?.connected ? connection.own.length : 0;
  const mode = connection?.connected ? connection.toolMode : modeOf(view, profile);
  const inForce = [
    ...(profile?.name ? [`profile ${escapeControlCharacters(profile.name)}`] : []),
    ...(mode && mode !== 'all' ? [`tool listing ${modeNames[mode]}`] : []),
  ];
  return (
    tokens !== undefined && (
      <span title={texts.tools.tokensHint}>
        Context {texts.tools.tokens(count(tokens))}
        {own > 0 && ` and ${texts.connections.servers(own)} of its own`}
        {inForce.length > 0 && ` (${inForce.join(', ')})`}
      </span>
    )
  );
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
  const costs = useQuery(clientCostsQuery(token));
  const client = useQueryClient();
  const change = useClientView();
  const unsaved = useUnsavedView(token);
  if (!data) return null;
  const view = unsaved ?? viewOf(data.clients, token);
  const profile = data.items.find((one) => one.name === view.profile) ?? data.items[0];
  const mode = modeOf(view, profile);
  const costOf = (name: string | undefined) => costs.data?.find((one) => one.profile === name);
  const cost = costOf(profile?.name);
  const listed = mode === 'auto' ? (cost?.auto ?? 'all') : mode;
  const name = escapeControlCharacters(token.slice(0, 100));
  const priced = (text: string, tokens: number | undefined) =>
    tokens === undefined ? text : `${text} · ${texts.tools.tokens(count(tokens))}`;
  const saved = cost ? cost.tokens[listed] - cost.tokens.search : 0;
  const byServer = connection?.connected && connection.byServer;
  const tooMany = connection && connection.maxTools > 0 && connection.offered > connection.maxTools;
  const names = new Map(tools.map((one) => [`${one.server}/${one.tool}`, one.publicName]));
  const offered = (cost?.tools ?? []).map((one) => ({
    ...one,
    publicName: names.get(`${one.server}/${one.tool}`) ?? one.tool,
  }));
  const set = (part: Partial<ClientSettings>, what: string) => {
    const was = Object.fromEntries(
      Object.keys(part).map((key) => [key, view[key as keyof ClientSettings]]),
    );
    // Undo leaves what was changed since.
    const undo = () => {
      const now = client.getQueryData(profilesQuery.queryKey)?.clients ?? [];
      change.mutate({ ...viewOf(now, token), ...was });
    };
    const said = `${escapeControlCharacters(connection?.name ?? token)}: ${what}.`;
    change.mutate(
      { ...view, ...part },
      { onSuccess: () => toast('ok', said, { text: texts.care.undo, run: undo }) },
    );
  };
  return (
    <div className="space-y-3 text-sm">
      <div className="@container flex flex-wrap items-center gap-x-3 gap-y-2">
        <Labelled text="Profile">
          <SelectField
            narrows={false}
            label={`Profile for ${name}`}
            value={view.profile}
            options={data.items.map((one) => {
              const missing = costOf(one.name)?.excluded.length ?? 0;
              const text = priced(
                one.name || 'No profile',
                costOf(one.name)?.tokens[modeOf(view, one)],
              );
              return {
                value: one.name,
                text: missing ? `${text}, without ${texts.connections.servers(missing)}` : text,
              };
            })}
            onChange={(profile) => set({ profile }, profile ? `profile ${profile}` : 'no profile')}
          />
        </Labelled>
        <Labelled text="Tool listing">
          <SelectField
            narrows={false}
            label={`Tool listing for ${name}`}
            // Without a profile, the default is to list all.
            value={view.profile ? view.toolMode : view.toolMode || 'all'}
            options={[
              ...(view.profile
                ? [
                    {
                      value: '',
                      text: priced('Profile default', profile && cost?.tokens[profile.toolMode]),
                    },
                  ]
                : []),
              ...modes.map((value) => ({
                value,
                text: priced(modeNames[value], cost?.tokens[value]),
              })),
            ]}
            onChange={(to) =>
              set(
                { toolMode: view.profile || to !== 'all' ? to : '' },
                `tool listing, ${modeNames[to as ToolMode] ?? 'profile default'}`,
              )
            }
          />
        </Labelled>
        <p className="text-xs text-ink2">
          {mode === 'auto' && cost
            ? autoIs(cost.auto, escapeControlCharacters(cost.reason))
            : modeNotes[mode]}
        </p>
        {byServer ? (
          <p className="w-full text-xs text-ink2">
            This client has an entry for each server. Their results are never shortened.
          </p>
        ) : (
          <>
            <Labelled text="Result limit">
              <SelectField
                label={`Result limit for ${name}`}
                value={String(view.maxResultTokens)}
                options={resultLimits(view.maxResultTokens).map((limit) => ({
                  value: String(limit),
                  text: limitText(limit),
                }))}
                onChange={(limit) =>
                  set({ maxResultTokens: Number(limit) }, `result limit, ${limitText(+limit)}`)
                }
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
                onChange={(copies) => set({ singleCopy: copies === 'once' }, 'structured results')}
              />
            </Labelled>
          </>
        )}
        {[...accountsByServer(data.accounts, view.accounts)].map(([server, accounts]) => {
          const label = escapeControlCharacters(labelOf(server).slice(0, 100));
          const { [server]: chosen = '', ...others } = view.accounts;
          return (
            <Labelled key={server} text={accountOf(label)}>
              <AccountChoice
                label={`${label} account for ${name}`}
                accounts={accounts}
                value={chosen}
                onChange={(account) =>
                  set(
                    { accounts: account ? { ...others, [server]: account } : others },
                    `${label} account, ${escapeControlCharacters(account || 'not chosen')}`,
                  )
                }
              />
            </Labelled>
          );
        })}
      </div>
      {offered.length > 0 && (
        <div>
          <h4 className="mb-1 font-medium text-ink2">
            {listed === 'all' ? 'Context by server' : 'Context by server, if all tools were listed'}
          </h4>
          <ContextByServer tools={offered} instructions={cost?.tokens.instructions ?? 0} />
        </div>
      )}
      {cost?.searches && !tooMany && (
        <p className="text-ink2">
          This client searches tools by itself, so most definitions stay out of its context until it
          needs them.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {saved > 0 && (!cost?.searches || tooMany) && (
          <Button
            small
            disabled={change.isPending}
            onClick={() => set({ toolMode: 'search' }, 'tool listing, Search')}
          >
            {`List by search (saves ~${count(saved)} tokens)`}
          </Button>
        )}
        {profile?.name ? (
          <Link
            to="/profiles/$name"
            params={{ name: wellFormed(profile.name) }}
            search={{}}
            className={buttonClasses('secondary', true)}
          >
            {`Choose tools in ${escapeControlCharacters(profile.name)}…`}
          </Link>
        ) : (
          <Link
            to="/profiles"
            search={{ make: token }}
            className={buttonClasses('secondary', true)}
          >
            Choose tools for this client…
          </Link>
        )}
      </div>
    </div>
  );
}

/** The limits to choose from, and the current one, in tokens; 0 is none. */
const resultLimits = (current: number) =>
  [...new Set([0, 2000, 5000, 10000, 25000, current])].sort((a, b) => a - b);

const limitText = (limit: number) => (limit ? `First ${count(limit)} tokens` : 'No limit');

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
