import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { LoaderCircle, Plus, TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { PageHeader } from '@/components/page';
import { plain } from '@/lib/format';
import { isJson, jsonMembers } from '@/lib/json-text';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import { review, useAddServers } from './add';
import { serversQuery } from './api';
import { clean, type Draft, readSnippet } from './snippet';

const t = texts.add;

interface Choice extends Draft {
  include: boolean;
}

/** Takes whatever a README offers, shows exactly what it would run, and writes it after a click. */
export function AddPage() {
  const [text, setText] = useState('');
  const [choices, setChoices] = useState<Choice[]>([]);
  const { data: servers } = useQuery(serversQuery);
  const taken = useMemo(() => new Set(servers?.map((server) => server.id)), [servers]);
  const navigate = useNavigate();
  const box = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const add = useAddServers((names) => {
    toast('ok', t.added(names.join(', ')));
    const [only] = names;
    if (names.length === 1 && only) navigate({ to: '/servers/$id', params: { id: only } });
    else navigate({ to: '/servers' });
  });
  useEffect(() => box.current?.focus(), []);

  const read = (typed: string) => {
    setText(typed);
    add.reset();
    setChoices(readSnippet(typed).map((draft) => ({ ...draft, include: true })));
  };
  const change = (index: number, part: Partial<Choice>) =>
    setChoices((old) => old.map((choice, i) => (i === index ? { ...choice, ...part } : choice)));
  const wanted = choices.filter((choice) => choice.include);
  const faults = choices.map((choice, i) =>
    choice.include ? nameFault(choice.name, taken, choices.slice(0, i)) : undefined,
  );
  const ready = wanted.length > 0 && faults.every((fault) => fault === undefined);
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area min-h-0 flex-1 px-4 pb-8 md:px-6">
        <form
          className="max-w-3xl space-y-5"
          onSubmit={(event) => {
            event.preventDefault();
            if (ready && !add.isPending)
              add.mutate(wanted.map(({ name, entry }) => ({ name, entry })));
          }}
        >
          <div>
            <label htmlFor={id} className="font-medium">
              {t.paste}
            </label>
            <p id={`${id}-hint`} className="mb-2 text-sm text-ink2">
              {t.pasteHint}
            </p>
            <textarea
              ref={box}
              id={id}
              aria-describedby={`${id}-hint`}
              rows={Math.min(14, Math.max(6, text.split('\n').length))}
              value={text}
              placeholder={t.placeholder}
              spellCheck={false}
              autoCapitalize="off"
              onChange={(event) => read(event.target.value)}
              className="block w-full resize-y rounded-lg border border-strong bg-panel p-3 font-mono text-xs leading-[1.6] placeholder:text-ink3"
            />
            {text.trim() !== '' && choices.length === 0 && (
              <p className="mt-2 flex gap-2 text-sm text-warn" role="status">
                <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
                {t.unreadable}
              </p>
            )}
          </div>
          {choices.length > 0 && (
            <section aria-labelledby={`${id}-review`} className="space-y-3">
              <h2 id={`${id}-review`} className="font-semibold">
                {t.review(choices.length)}
              </h2>
              {choices.map((choice, index) => (
                <DraftCard
                  // biome-ignore lint/suspicious/noArrayIndexKey: the name changes while it is typed
                  key={index}
                  choice={choice}
                  several={choices.length > 1}
                  fault={faults[index]}
                  onChange={(part) => change(index, part)}
                />
              ))}
              {add.isError && (
                <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
                  {plain(messageOf(add.error))}
                </p>
              )}
              <Button type="submit" look="primary" disabled={!ready || add.isPending}>
                {add.isPending ? (
                  <LoaderCircle className="size-4 animate-spin" aria-hidden />
                ) : (
                  <Plus className="size-4" aria-hidden />
                )}
                {add.isPending ? t.adding : t.add(wanted.length)}
              </Button>
            </section>
          )}
        </form>
      </div>
    </>
  );
}

function nameFault(name: string, taken: Set<string>, before: Choice[]): string | undefined {
  if (clean(name) !== name) return t.badName;
  if (taken.has(name) || before.some((c) => c.include && c.name === name)) return t.taken;
  return undefined;
}

function DraftCard({
  choice,
  several,
  fault,
  onChange,
}: {
  choice: Choice;
  several: boolean;
  fault: string | undefined;
  onChange: (part: Partial<Choice>) => void;
}) {
  const id = useId();
  const [editing, setEditing] = useState(false);
  return (
    <div className="space-y-3 rounded-lg border bg-panel p-4 shadow-card">
      <div className="flex flex-wrap items-end gap-3">
        {several && (
          <input
            type="checkbox"
            aria-label={t.include(choice.name)}
            checked={choice.include}
            onChange={(event) => onChange({ include: event.target.checked })}
            className="mb-2 size-4 accent-(--accent)"
          />
        )}
        <div className="min-w-0 flex-1">
          <label htmlFor={id} className="mb-1 block text-xs text-ink3">
            {t.name}
          </label>
          <input
            id={id}
            value={choice.name}
            spellCheck={false}
            autoComplete="off"
            aria-invalid={fault !== undefined}
            aria-describedby={fault ? `${id}-fault` : undefined}
            onChange={(event) => onChange({ name: event.target.value })}
            className="h-8 w-full max-w-72 rounded-md border border-strong bg-panel px-2.5 font-medium aria-invalid:border-bad"
          />
          {fault && (
            <p id={`${id}-fault`} className="mt-1 text-xs text-bad">
              {fault}
            </p>
          )}
        </div>
        <Button small look="quiet" aria-pressed={editing} onClick={() => setEditing((on) => !on)}>
          {editing ? t.editDone : t.edit}
        </Button>
      </div>
      {editing ? (
        <EntryEditor entry={choice.entry} onChange={(entry) => onChange({ entry })} />
      ) : (
        <WhatRuns entry={choice.entry} />
      )}
    </div>
  );
}

function EntryEditor({ entry, onChange }: { entry: string; onChange: (entry: string) => void }) {
  const [draft, setDraft] = useState(entry);
  const broken = !isJson(draft) || jsonMembers(draft) === undefined;
  return (
    <div>
      <textarea
        aria-label={t.entry}
        aria-invalid={broken}
        rows={Math.min(16, draft.split('\n').length + 1)}
        value={draft}
        spellCheck={false}
        autoCapitalize="off"
        onChange={(event) => {
          setDraft(event.target.value);
          if (isJson(event.target.value) && jsonMembers(event.target.value))
            onChange(event.target.value);
        }}
        className="block w-full resize-y rounded-md border border-strong bg-sunken p-2.5 font-mono text-xs leading-[1.6] aria-invalid:border-bad"
      />
      {broken && <p className="mt-1 text-xs text-bad">{texts.tools.notObject}</p>}
    </div>
  );
}

/** The whole command, one word per line and nothing shortened: this is what somebody agrees to. */
function WhatRuns({ entry }: { entry: string }) {
  const { argv, url, container, cwd, env, headers, placeholders } = useMemo(
    () => review(entry),
    [entry],
  );
  return (
    <div className="space-y-3">
      {url !== undefined && (
        <Part title={t.address}>
          <Code>{url}</Code>
        </Part>
      )}
      {container !== undefined && (
        <Part title={t.container}>
          <Code>{container}</Code>
        </Part>
      )}
      {argv.length > 0 && (
        <Part title={t.program}>
          <ol className="rounded-md border bg-sunken py-1.5 font-mono text-xs leading-[1.7]">
            {argv.map((word, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
              <li key={index} className="flex gap-3 px-3">
                <span aria-hidden className="w-5 shrink-0 text-right text-ink3 select-none">
                  {index}
                </span>
                <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
                  {plain(word)}
                </span>
              </li>
            ))}
          </ol>
        </Part>
      )}
      {cwd !== undefined && (
        <Part title={t.folder}>
          <Code>{cwd}</Code>
        </Part>
      )}
      <Pairs title={t.environment} pairs={env} />
      <Pairs title={t.headers} pairs={headers} />
      {placeholders.map((text) => (
        <p key={text} className="flex gap-2 text-sm text-warn">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            {plain(t.placeholderFound(text))}
          </span>
        </p>
      ))}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <p className="mb-1 text-xs text-ink3">{title}</p>
      {children}
    </div>
  );
}

function Code({ children }: { children: string }) {
  return (
    <code className="block rounded-md border bg-sunken px-3 py-1.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
      {plain(children)}
    </code>
  );
}

/** Names, and whether the value is a reference or stands there for everybody who reads the file. */
function Pairs({ title, pairs }: { title: string; pairs: [string, string][] }) {
  if (pairs.length === 0) return null;
  return (
    <Part title={title}>
      <ul className="space-y-0.5 text-sm">
        {pairs.map(([name, value]) => (
          <li key={name} className="flex flex-wrap items-baseline gap-x-2 [overflow-wrap:anywhere]">
            <code className="font-mono text-xs">{plain(name)}</code>
            <span className="text-xs text-ink3">
              {/\$\{[^}]+\}/.test(value) ? t.fromEnvironment : t.literal}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}
