import { KeyRound, Plus, X } from 'lucide-react';
import { type ComponentProps, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { SelectField } from '@/components/fields';
import { inputClasses, TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { isSensitive } from '@/lib/mask-secrets';
import { useNewSecret } from '@/lib/secrets';
import { toastError } from '@/lib/toast';

export const text = (value: unknown) => (typeof value === 'string' ? value : '');
export const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'));

/** A number that may be left out. */
export function NumberField(props: ComponentProps<typeof TextField>) {
  return <TextField type="number" min={0} step="any" placeholder="Default" {...props} />;
}

export function Choice({
  label,
  value,
  options,
  unset = 'Default',
  onChange,
}: {
  label: string;
  value: string;
  options: Record<string, string>;
  /** The name of the empty value. */
  unset?: string | undefined;
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
          { value: '', text: unset },
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
                  className={`${inputClasses} h-8 flex-1 font-mono text-xs`}
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
                          onError: toastError,
                        },
                      )
                    }
                  >
                    <KeyRound className="size-3.5" aria-hidden />
                    Store as secret
                  </Button>
                )}
                <IconButton
                  small
                  label={`Remove ${escapeControlCharacters(one)}`}
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
            className={`${inputClasses} h-8 max-w-64 font-mono text-xs`}
          />
          <Button disabled={name.trim() === ''} onClick={addRow}>
            <Plus className="size-3.5" aria-hidden />
            Add
          </Button>
        </li>
      </ul>
      {fault && <p className="mt-1 text-xs text-bad">{escapeControlCharacters(fault)}</p>}
    </fieldset>
  );
}
