import { CircleOff, TriangleAlert } from 'lucide-react';
import { useMemo, useState } from 'react';
import { BrowseButtons } from '@/components/browse-buttons';
import { Button } from '@/components/button';
import { CommandWords } from '@/components/command-words';
import { ConfigPartEditor } from '@/components/config-part-editor';
import { Labelled } from '@/components/fields';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { isJson, jsonMembers } from '@/lib/json-text';
import { texts } from '@/lib/texts';
import { type Draft, replacePlaceholder, review } from './review-and-add-server';
import { TestNewServer } from './test-new-server';

const t = texts.add;
const entryPath = ['mcpServers', 'SERVER'];

export interface Choice extends Draft {
  include: boolean;
  /** The text of the editor while it is not valid. The entry is then the last valid text. */
  invalid?: string | undefined;
  /** What the conversion does not copy. */
  notes?: string[] | undefined;
  /** Why the entry cannot be added. */
  refused?: string | undefined;
}

/** A server before it is added: its name, exactly what would run, and a test. */
export function NewServerCard({
  choice,
  several,
  fault,
  onAdd,
  onChange,
}: {
  choice: Choice;
  several: boolean;
  fault: string | undefined;
  onAdd: () => void;
  onChange: (part: Partial<Choice>) => void;
}) {
  const [editing, setEditing] = useState(choice.invalid !== undefined);
  const invalid = choice.invalid !== undefined;
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
        <TextField
          small
          label={t.name}
          value={choice.name}
          fault={fault}
          onChange={(name) => onChange({ name })}
          className="min-w-0 flex-1"
          inputClassName="max-w-72 font-medium"
        />
        <Button
          small
          look="quiet"
          aria-pressed={editing}
          disabled={editing && invalid}
          onClick={() => setEditing((on) => !on)}
        >
          {editing ? 'Done' : 'Edit'}
        </Button>
      </div>
      {editing ? (
        <EntryEditor
          text={choice.invalid ?? choice.entry}
          onChange={(text) =>
            onChange(
              isJson(text) && jsonMembers(text)
                ? { entry: text, invalid: undefined, refused: undefined }
                : { invalid: text },
            )
          }
        />
      ) : (
        <WhatRuns
          entry={choice.entry}
          onChange={(entry) => onChange({ entry, refused: undefined })}
        />
      )}
      {choice.refused !== undefined && (
        <p className="text-sm text-bad [overflow-wrap:anywhere]" role="alert">
          {escapeControlCharacters(choice.refused)}
        </p>
      )}
      {(choice.notes ?? []).map((note) => (
        <p key={note} className="flex gap-2 text-sm text-warn [overflow-wrap:anywhere]">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          {escapeControlCharacters(note)}
        </p>
      ))}
      {!invalid && choice.refused === undefined && (
        <TestNewServer
          key={choice.entry}
          name={choice.name}
          entry={choice.entry}
          onAdd={fault === undefined ? onAdd : undefined}
        />
      )}
    </div>
  );
}

function EntryEditor({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <ConfigPartEditor
      base={entryPath}
      label="Entry in the configuration file"
      value={text}
      language="json"
      onChange={onChange}
      className="max-h-80 min-h-24"
    />
  );
}

/** The command that the user agrees to: one argument per line, not truncated. */
function WhatRuns({ entry, onChange }: { entry: string; onChange: (entry: string) => void }) {
  const { argv, url, container, cwd, env, headers, placeholders, disabled } = useMemo(
    () => review(entry),
    [entry],
  );
  return (
    <div className="space-y-3">
      {url !== undefined && (
        <Labelled label={t.address}>
          <Code>{url}</Code>
        </Labelled>
      )}
      {container !== undefined && (
        <Labelled label="Container">
          <Code>{container}</Code>
        </Labelled>
      )}
      {argv.length > 0 && <CommandWords words={argv} label={t.program} />}
      {cwd !== undefined && (
        <Labelled label={t.folder}>
          <Code>{cwd}</Code>
        </Labelled>
      )}
      <Pairs title={t.environment} pairs={env} />
      <Pairs title={t.headers} pairs={headers} />
      {disabled && (
        <p className="flex gap-2 text-sm text-ink2">
          <CircleOff className="mt-0.5 size-4 shrink-0" aria-hidden />
          This server is added as disabled: it does not start until you enable it.
        </p>
      )}
      {placeholders.map((text) => (
        <p key={text} className="flex gap-2 text-sm text-warn">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            {escapeControlCharacters(
              `“${text}” looks like a placeholder. Replace it with your own value.`,
            )}
          </span>
          {/path/i.test(text) && (
            <BrowseButtons onPick={(path) => onChange(replacePlaceholder(entry, text, path))} />
          )}
        </p>
      ))}
    </div>
  );
}

function Code({ children }: { children: string }) {
  return (
    <code className="block rounded-md border bg-sunken px-3 py-1.5 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
      {escapeControlCharacters(children)}
    </code>
  );
}

/** Names, and whether each value is a reference or stored as plain text in the file. */
function Pairs({ title, pairs }: { title: string; pairs: [string, string][] }) {
  if (pairs.length === 0) return null;
  return (
    <Labelled label={title}>
      <ul className="space-y-0.5 text-sm">
        {pairs.map(([name, value]) => (
          <li key={name} className="flex flex-wrap items-baseline gap-x-2 [overflow-wrap:anywhere]">
            <code className="font-mono text-xs">{escapeControlCharacters(name)}</code>
            <span className="text-xs text-ink3">
              {/\$\{[^}]+\}/.test(value) ? 'taken from the environment' : 'saved as plain text'}
            </span>
          </li>
        ))}
      </ul>
    </Labelled>
  );
}
