import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Layers, LoaderCircle, TriangleAlert } from 'lucide-react';
import { type ReactNode, useId, useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { CopyField } from '@/components/copy-button';
import { Section } from '@/components/fields';
import { Empty } from '@/components/page';
import { DetailFrame } from '@/components/split';
import { classes } from '@/lib/classes';
import { count, plain } from '@/lib/format';
import { messageOf, RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Profile, ToolMode } from '@/types/profiles';
import { costQuery, profilesQuery, useClientView, useDeleteProfile, useSaveProfile } from './api';
import { viewOf } from './client-views';
import { type Entry, type Known, offers, readEntry, switchTools, textOf } from './entry';
import { type PickTool, ToolPicker } from './tool-picker';

const t = texts.profiles;

interface Props {
  /** Undefined for one that is being made. */
  name: string | undefined;
  tools: PickTool[];
  days: number | undefined;
  servers: string[];
  labelOf: (server: string) => string;
  /** Names of the tokens that clients hold. */
  tokens: string[];
  url: string;
  requireToken: boolean;
  onSaved: (name: string) => void;
  onClose: () => void;
}

/** One profile: what it offers, how, at what cost, and to whom. */
export function ProfileDetail(props: Props) {
  const { data } = useSuspenseQuery(profilesQuery);
  const { name, onClose } = props;
  const [kept, setKept] = useState<Profile | undefined>(undefined);
  const profile = data.items.find((p) => p.name !== '' && p.name === name);
  if (profile && profile !== kept) setKept(profile);
  if (name !== undefined && !profile && !kept)
    return (
      <DetailFrame id={name} title={plain(name)} onClose={onClose}>
        <Empty icon={Layers} title={t.gone}>
          {t.goneBody}
        </Empty>
      </DetailFrame>
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
  gone,
  everything,
  taken,
  tools,
  days,
  servers,
  labelOf,
  tokens,
  url,
  requireToken,
  onSaved,
  onClose,
}: Props & {
  profile: Profile | undefined;
  /** It was taken out of the file while it was open. */
  gone: boolean;
  everything: Profile | undefined;
  taken: string[];
}) {
  const [base, setBase] = useState(profile);
  const [draft, setDraft] = useState<Entry>(() => readEntry(profile?.entry ?? { servers: {} }));
  const [name, setName] = useState('');
  const [asking, setAsking] = useState(false);
  const [before, setBefore] = useState<{ entry: Entry; n: number } | undefined>(undefined);
  const save = useSaveProfile();
  const dirty = textOf(draft) !== textOf(readEntry(base?.entry ?? { servers: {} }));
  const load = (from: Profile | undefined) => {
    setBase(from);
    setDraft(readEntry(from?.entry ?? { servers: {} }));
    setBefore(undefined);
    save.reset();
  };
  const changed = profile !== undefined && profile.etag !== base?.etag;
  if (changed && !dirty) load(profile); // nothing of the person's is lost
  const known = useMemo<Known>(() => {
    const all = new Map<string, string[]>();
    for (const { server, tool } of tools) all.set(server, [...(all.get(server) ?? []), tool]);
    return all;
  }, [tools]);
  const change = (part: Partial<Entry>) => setDraft((old) => ({ ...old, ...part }));
  const errors = save.error instanceof RequestError ? save.error.fields : [];
  const faultOf = (field: string) =>
    errors.find(
      (e) =>
        e.field === field || e.field.startsWith(`${field}.`) || e.field.startsWith(`${field}[`),
    )?.error;
  const nameFault =
    profile || name === ''
      ? undefined
      : !/^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$/.test(name) || name.length > 32
        ? t.nameBad
        : taken.includes(name)
          ? t.nameTaken
          : undefined;
  const ready = profile ? dirty && !changed && !gone : name !== '' && nameFault === undefined;
  const submit = () => {
    const to = profile?.name ?? name;
    const entry = { ...draft };
    if (!entry.description) delete entry.description;
    entry.folders = entry.folders?.map((f) => f.trim()).filter(Boolean);
    if (!entry.folders?.length) delete entry.folders;
    if (entry.toolMode === 'all') delete entry.toolMode;
    save.mutate(
      { name: to, entry, was: base?.etag ?? 'new' },
      {
        onSuccess: (saved) => {
          toast('ok', t.saved(plain(to)));
          load(saved);
          onSaved(to);
        },
      },
    );
  };
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
      title={profile ? plain(profile.name) : t.make}
      onClose={onClose}
      actions={
        <>
          <Button look="primary" disabled={!ready || save.isPending} onClick={submit}>
            {save.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {t.save}
          </Button>
          {profile && dirty && !gone && <Button onClick={() => load(profile)}>{t.discard}</Button>}
          {profile && !gone && (
            <Button look="danger" className="ml-auto" onClick={() => setAsking(true)}>
              {t.remove}
            </Button>
          )}
        </>
      }
    >
      {(gone || changed) && (
        <Warning>
          {gone ? t.removedMeanwhile : t.changed}{' '}
          {changed && !gone && (
            <Button small className="ml-2" onClick={() => load(profile)}>
              {t.reload}
            </Button>
          )}
        </Warning>
      )}
      {save.isError && (
        <p
          role="alert"
          className="mx-4 mt-3 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad md:mx-5"
        >
          {plain(messageOf(save.error))}
        </p>
      )}
      <div className="space-y-3 px-4 py-4 md:px-5">
        {!profile && (
          <Field label={t.name} hint={t.nameHint} fault={nameFault}>
            {(props) => (
              <input
                {...props}
                value={name}
                maxLength={64}
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => setName(event.target.value)}
                className={input}
              />
            )}
          </Field>
        )}
        <Field label={t.description} fault={faultOf('description')}>
          {(props) => (
            <input
              {...props}
              value={draft.description ?? ''}
              maxLength={500}
              autoComplete="off"
              onChange={(event) => change({ description: event.target.value })}
              className={input}
            />
          )}
        </Field>
      </div>
      <Section title={t.mode}>
        <ModeChoice
          entry={draft}
          everything={everything}
          onChange={(toolMode) => change({ toolMode })}
          fault={faultOf('toolMode')}
        />
      </Section>
      <Section title={t.tools}>
        {faultOf('servers') && (
          <p className="mb-2 text-sm text-bad">{plain(faultOf('servers') ?? '')}</p>
        )}
        {before ? (
          <p role="status" className="mb-3 flex flex-wrap items-center gap-2 text-sm text-ink2">
            {t.takenOut(before.n)}
            <Button
              small
              onClick={() => {
                setDraft(before.entry);
                setBefore(undefined);
              }}
            >
              {t.undo}
            </Button>
          </p>
        ) : (
          unused.length > 0 &&
          days !== undefined && (
            <p className="mb-3 flex flex-wrap items-center gap-2 text-sm text-ink2">
              <Button small onClick={takeOut}>
                {t.takeOut(unused.length, count(spare))}
              </Button>
              {days < 29 && <span className="text-xs text-ink3">{t.recordedFor(days)}</span>}
            </p>
          )
        )}
        <ToolPicker
          entry={draft}
          known={known}
          tools={tools}
          servers={servers}
          labelOf={labelOf}
          onChange={(entry) => {
            setDraft(entry);
            setBefore(undefined);
          }}
        />
      </Section>
      <Section title={t.use}>
        <Use profile={profile} tokens={tokens} url={url} requireToken={requireToken} />
      </Section>
      <Section title={t.folders}>
        <Field label={t.folders} hint={t.foldersHint} fault={faultOf('folders')}>
          {(props) => (
            <textarea
              {...props}
              rows={2}
              value={(draft.folders ?? []).join('\n')}
              spellCheck={false}
              onChange={(event) =>
                change({
                  folders: event.target.value === '' ? undefined : event.target.value.split('\n'),
                })
              }
              className={classes(input, 'h-auto py-1.5 font-mono text-xs')}
            />
          )}
        </Field>
      </Section>
      {asking && profile && (
        <Remove
          profile={profile}
          onDone={() => {
            toast('ok', t.removed(plain(profile.name)));
            onClose();
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </DetailFrame>
  );
}

const input =
  'h-8 w-full rounded-md border border-strong bg-panel px-2.5 text-sm text-ink aria-invalid:border-bad';

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

function Field({
  label,
  hint,
  fault,
  children,
}: {
  label: string;
  hint?: string;
  fault: string | undefined;
  children: (props: {
    id: string;
    'aria-invalid': boolean;
    'aria-describedby': string;
  }) => ReactNode;
}) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children({ id, 'aria-invalid': fault !== undefined, 'aria-describedby': `${id}-about` })}
      <p id={`${id}-about`} className={classes('mt-1 text-xs', fault ? 'text-bad' : 'text-ink3')}>
        {fault ? plain(fault) : hint}
      </p>
    </div>
  );
}

/** The three ways to list tools, each with what it costs, and what all that saves. */
function ModeChoice({
  entry,
  everything,
  fault,
  onChange,
}: {
  entry: Entry;
  everything: Profile | undefined;
  fault: string | undefined;
  onChange: (mode: ToolMode) => void;
}) {
  const { data: cost } = useQuery(costQuery(entry));
  const group = useId();
  const mode = entry.toolMode ?? 'all';
  const before = everything?.tokens.all ?? 0;
  const after = cost?.tokens[mode];
  return (
    <fieldset>
      <legend className="sr-only">{t.mode}</legend>
      <div className="grid gap-2 sm:grid-cols-3">
        {(['all', 'search', 'deferred'] as const).map((one) => (
          <label
            key={one}
            className={classes(
              'flex cursor-pointer items-start gap-2 rounded-lg border p-2.5 text-sm',
              one === mode ? 'border-accent bg-accent-soft' : 'hover:bg-hover',
            )}
          >
            <input
              type="radio"
              name={group}
              checked={one === mode}
              onChange={() => onChange(one)}
              className="mt-0.5 size-4 shrink-0 accent-(--accent)"
            />
            <span className="min-w-0">
              <span className="font-medium">{t.modes[one]}</span>
              {cost && (
                <span className="block text-xs text-ink2" title={texts.tools.tokensHint}>
                  {texts.tools.tokens(count(cost.tokens[one]))}
                </span>
              )}
              <span className="block text-xs text-ink2">{t.modeNotes[one]}</span>
            </span>
          </label>
        ))}
      </div>
      {fault && <p className="mt-1 text-xs text-bad">{plain(fault)}</p>}
      {after !== undefined && (
        <p role="status" className="mt-2 text-sm text-ink2">
          {t.before(count(before))}{' '}
          {t.after(count(after), after < before ? t.saves(count(before - after)) : t.savesNone)}
        </p>
      )}
    </fieldset>
  );
}

/** Its address, the entry for a client, and which clients are bound to it. */
function Use({
  profile,
  tokens,
  url,
  requireToken,
}: {
  profile: Profile | undefined;
  tokens: string[];
  url: string;
  requireToken: boolean;
}) {
  const { data } = useQuery(profilesQuery);
  const view = useClientView();
  if (!profile) return <p className="text-sm text-ink3">{t.clientsFirst}</p>;
  const address = `${url}${profile.address}`;
  const entry = JSON.stringify(
    {
      mcpServers: {
        [`drawbridge-${profile.name}`]: {
          url: address,
          ...(requireToken ? { headers: { Authorization: 'Bearer TOKEN' } } : {}),
        },
      },
    },
    null,
    2,
  );
  const all = [...new Set([...tokens, ...profile.clients])].sort();
  return (
    <div className="space-y-3 text-sm">
      <div>
        <p className="mb-1 text-xs text-ink3">{t.address}</p>
        <CopyField text={address} label={t.address} />
      </div>
      <div>
        <p className="mb-1 text-xs text-ink3">{t.entry}</p>
        <CopyField text={entry} label={t.entry} />
      </div>
      <fieldset>
        <legend className="mb-1 text-xs text-ink3">{t.clients}</legend>
        {all.length === 0 && <p className="text-ink3">{t.clientsNone}</p>}
        {all.map((token) => (
          <label key={token} className="flex items-center gap-2 py-1">
            <input
              type="checkbox"
              checked={profile.clients.includes(token)}
              disabled={view.isPending}
              onChange={(event) =>
                view.mutate({
                  ...viewOf(data?.clients ?? [], token),
                  profile: event.target.checked ? profile.name : '',
                })
              }
              className="size-4 accent-(--accent)"
            />
            <span className="min-w-0 truncate">{plain(token.slice(0, 100))}</span>
          </label>
        ))}
      </fieldset>
    </div>
  );
}

function Remove({
  profile,
  onDone,
  onClose,
}: {
  profile: Profile;
  onDone: () => void;
  onClose: () => void;
}) {
  const remove = useDeleteProfile();
  return (
    <Confirm
      title={t.removeTitle(plain(profile.name))}
      action={t.remove}
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(profile, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{t.removeBody}</p>
      {profile.clients.length > 0 && (
        <p className="mt-2 text-warn">
          {t.removeBound(plain(profile.clients.slice(0, 20).join(', ')))}
        </p>
      )}
    </Confirm>
  );
}
