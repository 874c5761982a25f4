import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { LoaderCircle, Plus, Store, TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { DraftRestored } from '@/components/draft-restored';
import { Failure } from '@/components/failure';
import { PageHeader } from '@/components/page';
import { configQuery, unusable } from '@/lib/config-file';
import { keepDraft, readDraft, useDraft } from '@/lib/drafts';
import { escapeControlCharacters } from '@/lib/format';
import { dots } from '@/lib/mask-secrets';
import { isTemporary } from '@/lib/request';
import { secretName, useNewSecret } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import { toast, useLocalToast } from '@/lib/toast';
import { parseServers, serversQuery } from './api';
import { ContainerPicker } from './container-picker';
import { type Choice, focusMissing, NewServerCard } from './new-server-card';
import {
  addTexts,
  type Draft,
  definedElsewhere,
  entryOf,
  freeName,
  idOf,
  nameFault,
  toServerName,
  useAddServers,
  whyUnread,
} from './review-and-add-server';
import {
  type EntryField,
  fieldsOf,
  isSecret,
  secretsOf,
  valueIn,
  withFields,
  withoutSecrets,
} from './server-fields';

const place = 'add server';

interface Typed {
  text: string;
  choices: Choice[];
}

interface AddFormProps {
  /** The name of a server to duplicate. */
  like?: string | undefined;
  /** The entry from a link; it is only shown until the user clicks. */
  linked?: { name: string; entry: string } | undefined;
  /** The import of servers from clients. */
  importing?: ReactNode;
  /** Called instead of opening the new server, if the form is part of another page. */
  onAdded?: () => void;
}

export function AddPage(props: AddFormProps) {
  return (
    <>
      <PageHeader
        title="Add a server"
        action={
          <Link
            to="/directory"
            className={buttonClasses()}
            title="Choose a server from the list and fill in a form."
          >
            <Store className="size-4" aria-hidden />
            {texts.directory.openDirectory}
          </Link>
        }
      />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <AddForm {...props} />
      </div>
    </>
  );
}

/** Parses a snippet of a README, shows exactly what it would run, and adds it after a click. */
export function AddForm({ like, linked, importing, onAdded }: AddFormProps) {
  const fresh = like === undefined && linked === undefined;
  const [kept] = useState(() => (fresh ? readDraft<Typed>(place) : undefined));
  const [text, setText] = useState(kept?.text ?? '');
  const [choices, setChoices] = useState<Choice[]>(kept?.choices ?? []);
  const [pending, setPending] = useState(false);
  const [unread, setUnread] = useState<{ error?: unknown; link?: boolean }>();
  // Only what the daemon has read is a draft: its servers show whether the text has a secret.
  const draft = useRef<Typed>(undefined);
  if (!pending && unread?.error === undefined)
    draft.current = text ? draftOf({ text, choices }) : undefined;
  const typed = fresh ? draft.current : undefined;
  const restored = useDraft<Typed>(fresh ? place : `${place} ${like ?? linked?.name}`, typed);
  const say = useLocalToast();
  const discard = () => {
    read('');
    say('ok', texts.care.typedGone, {
      text: texts.care.undo,
      run: () => restore({ text, choices: pending ? [] : choices }),
    });
  };
  const { data: servers } = useQuery(serversQuery);
  const taken = useMemo(() => new Set(servers?.map((server) => idOf(server.id))), [servers]);
  const navigate = useNavigate();
  const box = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const add = useAddServers((names) => {
    keepDraft(place, undefined);
    toast('ok', addTexts.added(names));
    const [only] = names;
    if (onAdded) {
      read('');
      onAdded();
    } else if (names.length === 1 && only) navigate({ to: '/servers/$id', params: { id: only } });
    else navigate({ to: '/servers' });
  });
  const secrets = useNewSecret();
  const adding = useMutation({
    mutationFn: async (wanted: Choice[]) => {
      const drafts: Draft[] = [];
      for (const { name, entry, filled } of wanted) {
        const stored = new Map<string, string>();
        for (const field of secretsOf(entry, filled))
          stored.set(
            field.key,
            await secrets.mutateAsync({
              name: secretName(name, field.name),
              value: valueIn(field, filled),
            }),
          );
        const reference = ({ key }: EntryField) =>
          stored.has(key) ? `\${secret:${stored.get(key)}}` : undefined;
        drafts.push({
          name,
          entry: withFields(
            entry,
            fieldsOf(entry),
            (field) => reference(field) ?? (valueIn(field, filled) || undefined),
          ),
        });
      }
      return add.mutateAsync(drafts);
    },
  });
  const alone = onAdded === undefined;
  useEffect(() => {
    if (alone) box.current?.focus();
  }, [alone]);
  const { data: config } = useQuery({ ...configQuery, enabled: like !== undefined });
  const begun = useRef(false);
  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);
  useEffect(() => {
    if (!kept || begun.current) return;
    begun.current = true;
    restore(kept);
  });
  useEffect(() => {
    if (!linked || begun.current) return;
    begun.current = true;
    read(`{ "mcpServers": { ${JSON.stringify(toServerName(linked.name))}: ${linked.entry} } }`);
  });
  useEffect(() => {
    if (!config || !like || !servers || begun.current) return;
    const entry = entryOf(config.text, like);
    if (entry === undefined) return;
    begun.current = true;
    read(`{ "mcpServers": { ${JSON.stringify(freeName(like, taken))}: ${entry} } }`);
  });

  const restore = (saved: Typed) => {
    if (saved.choices.length === 0) return read(saved.text);
    stop.current();
    setText(saved.text);
    setChoices(saved.choices);
  };
  /** Shows the servers of a text. A later text replaces it, and its answer is ignored. */
  const read = (next: string, pauseMs = 0) => {
    stop.current();
    setText(next);
    setUnread(undefined);
    adding.reset();
    const wanted = next.trim() !== '';
    setPending(wanted);
    if (!wanted) return setChoices([]);
    const asked = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const ask = async () => {
      const answer = await parseServers(next, asked.signal).catch((error: unknown) => ({ error }));
      if (asked.signal.aborted) return;
      const servers = 'servers' in answer ? answer.servers : [];
      setPending(false);
      setChoices(servers.map((server) => ({ ...server, include: true, filled: {} })));
      if ('error' in answer) {
        setUnread({ error: answer.error });
        if (isTemporary(answer.error)) timer = setTimeout(ask, 2000);
      } else setUnread(servers.length === 0 ? { link: answer.unreadableLink } : undefined);
    };
    timer = setTimeout(ask, pauseMs);
    stop.current = () => {
      clearTimeout(timer);
      asked.abort();
    };
  };
  const change = (index: number, part: Partial<Choice>) =>
    setChoices((old) => old.map((choice, i) => (i === index ? { ...choice, ...part } : choice)));
  const wanted = choices.filter((choice) => choice.include);
  const before = (i: number) =>
    new Set([
      ...taken,
      ...choices.slice(0, i).flatMap(({ include, name }) => (include ? [idOf(name)] : [])),
    ]);
  const faults = choices.map((choice, i) =>
    choice.include ? nameFault(choice.name, before(i)) : undefined,
  );
  const invalid = wanted.find((choice) => choice.invalid !== undefined);
  const blocked = pending || wanted.some((choice) => choice.refused !== undefined);
  const ready =
    wanted.length > 0 && !invalid && !blocked && faults.every((fault) => fault === undefined);
  const form = useRef<HTMLFormElement>(null);
  /** Adds servers unless one has a placeholder, which then gets the focus. */
  const addComplete = (wanted: Choice[]) => {
    const cards = form.current?.querySelectorAll('[data-server-card]');
    const missing = wanted.some((choice) => {
      const index = choices.indexOf(choice);
      return focusMissing(choice, cards?.[index], () => change(index, { editing: false }));
    });
    if (!missing) adding.mutate(wanted);
  };
  return (
    <form
      ref={form}
      className="max-w-3xl space-y-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !adding.isPending) addComplete(wanted);
      }}
    >
      {linked && (
        <p role="status" className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          This form was opened by a link. Add the server only if you trust its source: it can run
          any program with your permissions.
        </p>
      )}
      <div>
        <label htmlFor={id} className="font-medium">
          Paste a snippet, a command or a URL
        </label>
        <p id={`${id}-hint`} className="mb-2 text-pretty text-sm text-ink2">
          A JSON or YAML block from a README, a command line, “claude mcp add …”, an install link,
          or a URL. Nothing runs until you add it.
        </p>
        <textarea
          ref={box}
          id={id}
          aria-describedby={`${id}-hint`}
          rows={Math.min(14, Math.max(6, text.split('\n').length))}
          value={text}
          placeholder={
            'npx -y @modelcontextprotocol/server-filesystem /home/me\n\nor  { "mcpServers": { … } }\n\nor  https://example.com/mcp'
          }
          spellCheck={false}
          autoCapitalize="off"
          onChange={(event) => read(event.target.value, 250)}
          className="block w-full resize-y rounded-lg border border-strong bg-panel p-3 font-mono text-xs leading-[1.6] placeholder:text-ink3"
        />
        {restored && <DraftRestored onDiscard={discard} />}
        {like && config && text === '' && entryOf(config.text, like) === undefined && (
          <p className="mt-2 text-sm text-warn">{unusable(config) ?? definedElsewhere}</p>
        )}
        {pending && choices.length === 0 && (
          <p className="mt-2 flex gap-2 text-sm text-ink2" role="status">
            <LoaderCircle className="mt-0.5 size-4 shrink-0 animate-spin" aria-hidden />
            Reading the text…
          </p>
        )}
        {unread?.link !== undefined && (
          <p className="mt-2 flex gap-2 text-sm text-warn" role="status">
            <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
            {unread.link
              ? 'This link cannot be read. Paste the command, the URL or the JSON block of the server instead.'
              : whyUnread(text)}
          </p>
        )}
        {unread?.error !== undefined && (
          <>
            <Failure error={unread.error} className="my-2" />
            <Button small onClick={() => read(text)}>
              Try again
            </Button>
          </>
        )}
      </div>
      {choices.length === 0 && (
        <div className="flex flex-wrap items-start gap-2">
          <ContainerPicker
            onPick={(entry, name) =>
              read(`{ "mcpServers": { ${JSON.stringify(toServerName(name))}: ${entry} } }`)
            }
          />
          {importing}
        </div>
      )}
      {choices.length > 0 && (
        <section aria-labelledby={`${id}-review`} aria-busy={pending} className="space-y-3">
          <h2 id={`${id}-review`} className="font-semibold">
            {choices.length === 1 ? 'This will run' : `These ${choices.length} servers will run`}
          </h2>
          {choices.map((choice, index) => (
            <NewServerCard
              // biome-ignore lint/suspicious/noArrayIndexKey: the name changes while the user types
              key={index}
              choice={choice}
              several={choices.length > 1}
              fault={faults[index]}
              free={freeName(toServerName(choice.name), before(index))}
              onAdd={() => !pending && addComplete([choice])}
              onChange={(part) => change(index, part)}
            />
          ))}
          <Failure error={adding.error} />
          {invalid && (
            <p className="flex gap-2 text-sm text-warn [overflow-wrap:anywhere]">
              <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
              {escapeControlCharacters(
                `The entry of “${invalid.name}” is not a JSON object. Correct it first.`,
              )}
            </p>
          )}
          <Button type="submit" look="primary" disabled={!ready || adding.isPending}>
            {adding.isPending ? (
              <LoaderCircle className="size-4 animate-spin" aria-hidden />
            ) : (
              <Plus className="size-4" aria-hidden />
            )}
            {adding.isPending
              ? 'Adding…'
              : wanted.length > 1
                ? `Add ${wanted.length} servers`
                : 'Add server'}
          </Button>
        </section>
      )}
    </form>
  );
}

/** What is kept as a draft: secrets are not, neither in the text nor in the entries. */
function draftOf({ text, choices }: Typed): Typed {
  const secrets = choices.flatMap(({ entry, filled }) =>
    fieldsOf(entry).filter((field) => isSecret(field, filled) && !field.open),
  );
  return {
    text: secrets.reduce((all, { was }) => all.replaceAll(was, dots), text),
    choices: choices.map((choice) => ({
      ...choice,
      entry: withoutSecrets(choice.entry, choice.filled),
      filled: {},
    })),
  };
}
