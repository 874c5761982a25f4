import { useSuspenseQuery } from '@tanstack/react-query';
import { Layers, LoaderCircle, TriangleAlert } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Section } from '@/components/fields';
import { DetailFrame, Gone } from '@/components/split-view';
import { LinesField, TextField } from '@/components/text-field';
import { count, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Profile, ToolMode } from '@/types/api';
import { useClientView } from './api';
import { viewOf } from './client-access';
import { ProfileAccounts } from './profile-accounts';
import { type Entry, type Known, offers, switchTools } from './profile-entry';
import { ProfileURLAndClients } from './profile-url-and-clients';
import { RemoveProfile } from './remove-profile';
import { ModeChoice } from './tool-mode-choice';
import { type PickTool, ToolPicker } from './tool-picker';
import { useProfileDraft } from './use-profile-draft';

const words = {
  folders: 'Folders',
  takeOut: (n: number, tokens: string | undefined) =>
    `Remove ${n === 1 ? '1 unused tool' : `${count(n)} unused tools`}${tokens ? ` (saves ~${tokens} tokens)` : ''}`,
};

interface Props {
  /** Undefined for a new profile. */
  name: string | undefined;
  /** The client that a new profile is for. */
  client?: string | undefined;
  /** The draft of a new profile. */
  initial?: Entry | undefined;
  tools: PickTool[];
  servers: string[];
  /** The names of the clients' tokens. */
  tokens: string[];
  url: string;
  requireToken: boolean;
  onSaved: (name: string) => void;
  onRemoved: () => void;
  onClose: () => void;
}

/** One profile: its tools, its tool mode, its cost and its clients. */
export function ProfileDetail(props: Props) {
  const { data } = useSuspenseQuery(profilesQuery);
  const { name, onClose } = props;
  const [kept, setKept] = useState<Profile | undefined>(undefined);
  const profile = data.items.find((p) => p.name !== '' && p.name === name);
  if (profile && profile !== kept) setKept(profile);
  if (name !== undefined && !profile && !kept)
    return (
      <Gone
        id={name}
        title={escapeControlCharacters(name)}
        icon={Layers}
        what="This profile does not exist"
        onClose={onClose}
      >
        It may have been removed from the configuration.
      </Gone>
    );
  return (
    <Editor
      {...props}
      profile={profile ?? (name === undefined ? undefined : kept)}
      gone={name !== undefined && !profile}
      everything={data.items[0]}
      taken={data.items.map((p) => p.name)}
    />
  );
}

function Editor({
  profile,
  client,
  initial,
  gone,
  everything,
  taken,
  tools,
  servers,
  tokens,
  url,
  requireToken,
  onSaved,
  onRemoved,
  onClose,
}: Props & {
  profile: Profile | undefined;
  /** Whether the profile was removed from the file while it was open. */
  gone: boolean;
  everything: Profile | undefined;
  taken: string[];
}) {
  const [asking, setAsking] = useState(false);
  const [before, setBefore] = useState<{ entry: Entry; n: number } | undefined>(undefined);
  const edit = useProfileDraft({
    profile,
    initial,
    suggested: (!profile && client) || '',
    gone,
    taken,
    onLoad: () => setBefore(undefined),
  });
  const { draft, setDraft, name, setName, nameFault, faultOf, save, changed } = edit;
  const known = useMemo<Known>(() => {
    const all = new Map<string, string[]>();
    for (const { server, tool } of tools) all.set(server, [...(all.get(server) ?? []), tool]);
    return all;
  }, [tools]);
  const { clients } = useSuspenseQuery(profilesQuery).data;
  // A client for which a profile is made gets its tool listing, too.
  const overrides = new Map(
    clients
      .filter((one) => one.toolMode && (profile || one.token !== client))
      .map((one) => [one.token, one.toolMode as ToolMode]),
  );
  const assign = useClientView();
  const assignTo = (token: string, saved: string) => {
    const view = viewOf(clients, token);
    // The same tool listing stays that of the client, also without the profile.
    const toolMode = view.toolMode === (draft.toolMode ?? 'all') ? view.toolMode : '';
    assign.mutate({ ...view, profile: saved, toolMode });
    toast(
      'ok',
      `${escapeControlCharacters(token)}: profile ${escapeControlCharacters(saved)}.`,
      { text: texts.care.undo, run: () => assign.mutate(view) },
      `Profile ${escapeControlCharacters(saved)} saved.`, // in place of that
    );
  };
  const change = (part: Partial<Entry>) => setDraft((old) => ({ ...old, ...part }));
  const unused = tools.filter((one) => one.unused && offers(draft, one.server, one.tool));
  const spare = unused.reduce((sum, one) => sum + one.tokens, 0);
  const takeOut = () => {
    const by = new Map<string, string[]>();
    for (const { server, tool } of unused) by.set(server, [...(by.get(server) ?? []), tool]);
    setBefore({ entry: draft, n: unused.length });
    setDraft(
      [...by].reduce((entry, [id, names]) => switchTools(entry, known, id, names, false), draft),
    );
  };
  return (
    <DetailFrame
      id={profile?.name ?? ''}
      title={profile ? escapeControlCharacters(profile.name) : 'New profile'}
      onClose={onClose}
      actions={
        <>
          <Button
            look="primary"
            disabled={!edit.ready || save.isPending}
            onClick={() =>
              edit.submit((saved) => {
                if (client !== undefined && !profile) assignTo(client, saved);
                onSaved(saved);
              })
            }
          >
            {save.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {client === undefined || profile
              ? 'Save profile'
              : `Save profile for ${escapeControlCharacters(client.slice(0, 60))}`}
          </Button>
          {!profile && name === '' && (
            <span className="text-xs text-ink3">Enter a name first.</span>
          )}
          {profile && edit.dirty && !gone && (
            <Button onClick={() => edit.drop(profile)}>Discard changes</Button>
          )}
          {profile && !gone && (
            <Button look="danger" className="ml-auto" onClick={() => setAsking(true)}>
              Delete profile
            </Button>
          )}
        </>
      }
    >
      {(gone || changed) && (
        <Warning>
          {gone
            ? 'This profile was removed from the configuration file.'
            : 'This profile was changed in the configuration file. Your changes are kept until you reload it.'}{' '}
          {changed && !gone && (
            <Button small className="ml-2" onClick={() => profile && edit.drop(profile)}>
              Reload
            </Button>
          )}
        </Warning>
      )}
      <Failure error={save.error} className="mx-4 mt-3 md:mx-5" />
      <div className="space-y-3 px-4 py-4 md:px-5">
        {!profile && (
          <TextField
            label="Name"
            hint="Use only letters, digits, “-” and “_”, because the name becomes part of the URL."
            fault={nameFault}
            required
            value={name}
            maxLength={64}
            onChange={setName}
          />
        )}
        <TextField
          label="Description"
          fault={faultOf('description')}
          value={draft.description ?? ''}
          maxLength={500}
          spellCheck
          onChange={(description) => change({ description })}
        />
      </div>
      <Section title="Tool listing">
        <ModeChoice
          entry={draft}
          name={profile?.name}
          client={profile ? undefined : client}
          overrides={overrides}
          everything={everything}
          onChange={(toolMode) => change({ toolMode })}
          fault={faultOf('toolMode')}
        />
      </Section>
      <Section title="Servers and tools">
        {faultOf('servers') && (
          <p className="mb-2 text-sm text-bad">
            {escapeControlCharacters(faultOf('servers') ?? '')}
          </p>
        )}
        {before ? (
          <p role="status" className="mb-3 flex flex-wrap items-center gap-2 text-sm text-ink2">
            {`${texts.servers.tools(before.n)} removed; save to apply.`}
            <Button
              small
              onClick={() => {
                setDraft(before.entry);
                setBefore(undefined);
              }}
            >
              Undo
            </Button>
          </p>
        ) : (
          unused.length > 0 && (
            <p className="mb-3 flex flex-wrap items-center gap-2 text-sm text-ink2">
              <Button small onClick={takeOut}>
                {/* Only the full list contains the definitions of all tools. */}
                {words.takeOut(
                  unused.length,
                  (draft.toolMode ?? 'all') === 'all' ? count(spare) : undefined,
                )}
              </Button>
            </p>
          )
        )}
        <ToolPicker
          entry={draft}
          known={known}
          tools={tools}
          servers={servers}
          onChange={(entry) => {
            setDraft(entry);
            setBefore(undefined);
          }}
        />
      </Section>
      <ProfileAccounts entry={draft} fault={faultOf('accounts')} onChange={setDraft} />
      <Section title="Use this profile">
        <ProfileURLAndClients
          profile={profile}
          client={client}
          tokens={tokens}
          url={url}
          requireToken={requireToken}
        />
      </Section>
      <Section title={words.folders}>
        <LinesField
          labelHidden
          label={words.folders}
          hint="One absolute path per line. Clients that work in or below one of them use this profile, unless they are assigned another profile."
          fault={faultOf('folders')}
          value={(draft.folders ?? []).join('\n')}
          onChange={(to) => change({ folders: to === '' ? undefined : to.split('\n') })}
        />
      </Section>
      {asking && profile && (
        <RemoveProfile profile={profile} onDone={onRemoved} onClose={() => setAsking(false)} />
      )}
    </DetailFrame>
  );
}

function Warning({ children }: { children: ReactNode }) {
  return (
    <p
      role="alert"
      className="flex items-start gap-2 bg-warn-soft px-4 py-2 text-sm text-warn md:px-5"
    >
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <span className="min-w-0">{children}</span>
    </p>
  );
}
