import { CircleOff, TriangleAlert } from 'lucide-react';
import { useId, useMemo, useRef } from 'react';
import { flushSync } from 'react-dom';
import { BrowseButtons } from '@/components/browse-buttons';
import { Button } from '@/components/button';
import { CommandWords } from '@/components/command-words';
import { ConfigPartEditor } from '@/components/config-part-editor';
import { Labelled } from '@/components/fields';
import { inputClasses, TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { isJson, jsonMembers } from '@/lib/json-text';
import { dots } from '@/lib/mask-secrets';
import { texts } from '@/lib/texts';
import { addTexts, type Draft, review } from './review-and-add-server';
import {
  type EntryField,
  type Filled,
  fieldsOf,
  filledIn,
  isMissing,
  isReference,
  isSecret,
  valueIn,
  withOpenField,
  withoutSecrets,
} from './server-fields';
import { TestNewServer } from './test-new-server';

const entryPath = ['mcpServers', 'SERVER'];

export interface Choice extends Draft {
  include: boolean;
  filled: Filled;
  /** Whether the entry is shown as text. */
  editing?: boolean;
  /** The text of the editor while it is not valid. The entry is then the last valid text. */
  invalid?: string | undefined;
  /** What the conversion does not copy. */
  notes?: string[] | undefined;
  /** Why the entry cannot be added. */
  refused?: string | undefined;
}

const hasMissing = ({ entry, filled }: Choice) =>
  fieldsOf(entry).some((field) => isMissing(field, filled));

/**
 * Focuses the first field of a server that is still a placeholder. Returns false if there is none.
 * `show` renders the fields, which the editor of the entry hides.
 */
export function focusMissing(choice: Choice, card: Element | null | undefined, show: () => void) {
  if (choice.invalid !== undefined || !hasMissing(choice)) return false;
  flushSync(show);
  card?.querySelector<HTMLInputElement>('input[data-missing]')?.focus();
  return true;
}

/** A server before it is added: its name, exactly what would run, and a test. */
export function NewServerCard({
  choice,
  several,
  fault,
  free,
  onAdd,
  onChange,
}: {
  choice: Choice;
  several: boolean;
  fault: string | undefined;
  /** A name without a fault. */
  free: string;
  onAdd: () => void;
  onChange: (part: Partial<Choice>) => void;
}) {
  const invalid = choice.invalid !== undefined;
  const editing = choice.editing ?? invalid;
  const card = useRef<HTMLDivElement>(null);
  const filled = filledIn(choice.entry, choice.filled);
  const focusFirst = (part: Partial<Choice>) =>
    focusMissing({ ...choice, ...part }, card.current, () => onChange({ ...part, editing: false }));
  return (
    <div
      ref={card}
      data-server-card
      className="space-y-3 rounded-lg border bg-panel p-4 shadow-card"
    >
      <div className="flex flex-wrap items-start gap-3">
        {several && (
          <input
            type="checkbox"
            aria-label={addTexts.include(choice.name)}
            checked={choice.include}
            onChange={(event) => onChange({ include: event.target.checked })}
            className="mt-7 size-4 accent-(--accent)"
          />
        )}
        <div className="min-w-0 flex-1">
          <TextField
            small
            label="Name"
            value={choice.name}
            fault={fault}
            onChange={(name) => onChange({ name })}
            inputClassName="max-w-72 font-medium"
          />
          {fault && (
            <Button small className="mt-1.5" onClick={() => onChange({ name: free })}>
              {`Use “${free}”`}
            </Button>
          )}
        </div>
        <Button
          small
          look="quiet"
          aria-pressed={editing}
          disabled={editing && invalid}
          onClick={() => onChange({ entry: filled, filled: {}, editing: !editing })}
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
          choice={choice}
          onFill={(key, part) =>
            onChange({
              filled: { ...choice.filled, [key]: { ...choice.filled[key], ...part } },
            })
          }
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
          key={filled}
          name={choice.name}
          entry={filled}
          onAdd={fault === undefined ? onAdd : undefined}
          mayStart={() => !focusFirst({})}
          onFill={(name) => {
            const part = { entry: withOpenField(filled, name), filled: {} };
            if (!focusFirst(part)) onChange(part);
          }}
        />
      )}
    </div>
  );
}

function EntryEditor({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <ConfigPartEditor
      base={entryPath}
      label={texts.servers.config.entry}
      value={text}
      language="json"
      onChange={onChange}
      className="max-h-80 min-h-24"
    />
  );
}

/** The command that the user agrees to, not truncated, and what is left to fill in. */
function WhatRuns({
  choice: { entry, filled },
  onFill,
}: {
  choice: Choice;
  onFill: (key: string, part: Filled[string]) => void;
}) {
  const fields = useMemo(() => fieldsOf(entry), [entry]);
  const { argv, url, container, cwd, disabled } = review(withoutSecrets(entry, filled));
  const groups = [
    { title: 'Environment', kinds: ['env'] },
    { title: 'Headers', kinds: ['headers'] },
    { title: 'Other values', kinds: ['args', 'url'] },
  ];
  return (
    <div className="space-y-3">
      {url !== undefined && (
        <Labelled label="URL">
          <Code>{url}</Code>
        </Labelled>
      )}
      {container !== undefined && (
        <Labelled label="Container">
          <Code>{container}</Code>
        </Labelled>
      )}
      {argv.length > 0 && <CommandWords words={argv} label="Command" />}
      {cwd !== undefined && (
        <Labelled label="Working folder">
          <Code>{cwd}</Code>
        </Labelled>
      )}
      {groups.map(({ title, kinds }) => {
        const own = fields.filter((field) => kinds.includes(field.kind));
        return own.length === 0 ? null : (
          <fieldset key={title} className="space-y-2">
            <legend className="mb-1 text-xs text-ink3">{title}</legend>
            {own.map((field) => (
              <FieldRow
                key={field.key}
                field={field}
                filled={filled}
                onFill={(part) => onFill(field.key, part)}
              />
            ))}
          </fieldset>
        );
      })}
      {fields.some((field) => isSecret(field, filled)) && (
        <p className="text-xs text-ink3">
          Secrets are stored encrypted; the configuration file only refers to them.
        </p>
      )}
      {disabled && (
        <p className="flex gap-2 text-sm text-ink2">
          <CircleOff className="mt-0.5 size-4 shrink-0" aria-hidden />
          This server is added as disabled: it does not start until you enable it.
        </p>
      )}
    </div>
  );
}

/** A value to fill in, and whether it is stored as a secret. */
function FieldRow({
  field,
  filled,
  onFill,
}: {
  field: EntryField;
  filled: Filled;
  onFill: (part: Filled[string]) => void;
}) {
  const secret = isSecret(field, filled);
  const value = valueIn(field, filled);
  const missing = isMissing(field, filled);
  const id = useId();
  const name = escapeControlCharacters(field.name.slice(0, 200));
  const was = escapeControlCharacters(field.was.slice(0, 200));
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <code className="w-44 min-w-0 font-mono text-xs [overflow-wrap:anywhere]">{name}</code>
      <input
        aria-label={name}
        type={secret ? 'password' : 'text'}
        autoComplete={secret ? 'new-password' : 'off'}
        spellCheck={false}
        value={value}
        placeholder={field.open && field.was !== dots ? was : ''}
        aria-invalid={missing}
        aria-describedby={missing ? id : undefined}
        data-missing={missing || undefined}
        onChange={(event) => onFill({ value: event.target.value })}
        className={`${inputClasses} h-8 flex-1 basis-56 font-mono text-xs`}
      />
      {/path/i.test(field.name) && <BrowseButtons onPick={(path) => onFill({ value: path })} />}
      <span className="w-24 text-xs text-ink3">
        {isReference(field, filled) ? (
          'Reference'
        ) : (
          <label className="flex items-center gap-2 text-sm text-ink">
            <input
              type="checkbox"
              aria-label={`Store ${name} as a secret`}
              checked={secret}
              onChange={(event) => onFill({ secret: event.target.checked })}
              className="size-4 accent-(--accent)"
            />
            Secret
          </label>
        )}
      </span>
      {missing && (
        <p id={id} className="w-full text-xs text-bad [overflow-wrap:anywhere]">
          {field.was.includes(dots)
            ? 'The draft does not contain secrets. Enter the value again.'
            : `“${was}” is a placeholder. Enter the value. `}
          {!field.was.includes(dots) && (
            <button
              type="button"
              aria-label={`Use this text: ${was}`}
              className="text-accent underline underline-offset-2"
              onClick={() => onFill({ value: field.was })}
            >
              Use this text
            </button>
          )}
        </p>
      )}
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
