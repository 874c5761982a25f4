import { KeyRound, Plus, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { SelectField } from '@/components/fields';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { isSensitive } from '@/lib/mask-secrets';
import { messageOf } from '@/lib/request';
import { useNewSecret } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';

const t = texts.servers.config;
export const box =
  'w-full min-w-0 rounded-md border border-strong bg-panel px-2.5 text-sm placeholder:text-ink3';
export const text = (value: unknown) => (typeof value === 'string' ? value : '');
export const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'));

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A labelled field, with the error in its value or a hint. */
export function Field({
  label,
  hint,
  fault,
  children,
}: {
  label: string;
  hint?: string;
  fault?: string | undefined;
  children: (id: string, about: string | undefined) => ReactNode;
}) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children(id, (fault || hint) && `${id}-about`)}
      {(fault || hint) && (
        <p id={`${id}-about`} className={classes('mt-1 text-xs', fault ? 'text-bad' : 'text-ink3')}>
          {fault ? escapeControlCharacters(fault) : hint}
        </p>
      )}
    </div>
  );
}

interface Typed {
  id: string;
  value: string;
  onChange: (to: string) => void;
}

export function Line({
  id,
  about,
  value,
  number = false,
  placeholder = number ? t.unset : undefined,
  onChange,
}: Typed & { about?: string | undefined; number?: boolean; placeholder?: string | undefined }) {
  return (
    <input
      id={id}
      aria-describedby={about}
      value={value}
      type={number ? 'number' : 'text'}
      min={number ? 0 : undefined}
      step={number ? 'any' : undefined}
      placeholder={placeholder}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      className={`${box} h-8`}
    />
  );
}

export function Lines({
  id,
  value,
  about,
  invalid = false,
  onChange,
}: Typed & { about: string | undefined; invalid?: boolean }) {
  return (
    <textarea
      id={id}
      aria-describedby={about}
      aria-invalid={invalid}
      value={value}
      rows={Math.min(12, Math.max(2, value.split('\n').length))}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
      className={`${box} py-1.5 font-mono text-xs leading-5 aria-invalid:border-bad`}
    />
  );
}

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: Record<string, string>;
  onChange: (to: string) => void;
}) {
  return (
    <div className="@container">
      <p aria-hidden className="mb-1 text-sm font-medium">
        {label}
      </p>
      <SelectField
        label={label}
        narrows={false}
        value={value}
        options={[
          { value: '', text: t.unset },
          ...Object.entries(options).map(([of, name]) => ({ value: of, text: name })),
        ]}
        onChange={onChange}
      />
    </div>
  );
}

/** Variables or headers. Values that look like secrets are hidden, and can be moved to the secrets. */
export function Pairs({
  title,
  add,
  fault,
  secretOf,
  value,
  onSet,
  onRemove,
}: {
  title: string;
  add: string;
  fault?: string | undefined;
  /** The name of the secret that stores the value of a name. */
  secretOf: (name: string) => string;
  value: unknown;
  onSet: (name: string, value: string) => void;
  onRemove: (name: string) => void;
}) {
  const [name, setName] = useState('');
  const store = useNewSecret();
  const pairs = Object.entries((value ?? {}) as Record<string, unknown>);
  const addRow = () => {
    if (name.trim() && !pairs.some(([one]) => one === name.trim())) onSet(name.trim(), '');
    setName('');
  };
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{title}</legend>
      <ul className="space-y-2">
        {pairs.map(([one, raw]) => {
          const current = text(raw);
          const refers = /\$\{[^}]+\}/.test(current);
          const hidden = !refers && isSensitive(one, current);
          return (
            <li key={one} className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <code className="w-44 min-w-0 font-mono text-xs [overflow-wrap:anywhere]">
                {escapeControlCharacters(one)}
              </code>
              <div className="flex min-w-0 flex-1 basis-72 items-center gap-2">
                <input
                  aria-label={escapeControlCharacters(one)}
                  type={hidden ? 'password' : 'text'}
                  autoComplete={hidden ? 'new-password' : 'off'}
                  spellCheck={false}
                  value={current}
                  onChange={(event) => onSet(one, event.target.value)}
                  className={`${box} h-8 flex-1 font-mono text-xs`}
                />
                {hidden && current !== '' && (
                  <Button
                    small
                    disabled={store.isPending}
                    onClick={() =>
                      store.mutate(
                        { name: secretOf(one), value: current },
                        {
                          onSuccess: (secret) => onSet(one, `\${secret:${secret}}`),
                          onError: (error) =>
                            toast('bad', escapeControlCharacters(messageOf(error))),
                        },
                      )
                    }
                  >
                    <KeyRound className="size-3.5" aria-hidden />
                    {t.storeSecret}
                  </Button>
                )}
                <IconButton
                  small
                  label={t.remove(escapeControlCharacters(one))}
                  onClick={() => onRemove(one)}
                >
                  <X className="size-3.5" aria-hidden />
                </IconButton>
              </div>
            </li>
          );
        })}
        <li className="flex gap-2">
          <input
            aria-label={add}
            placeholder={add}
            value={name}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') addRow();
            }}
            className={`${box} h-8 max-w-64 font-mono text-xs`}
          />
          <Button disabled={name.trim() === ''} onClick={addRow}>
            <Plus className="size-3.5" aria-hidden />
            {t.add}
          </Button>
        </li>
      </ul>
      {fault && <p className="mt-1 text-xs text-bad">{escapeControlCharacters(fault)}</p>}
    </fieldset>
  );
}
