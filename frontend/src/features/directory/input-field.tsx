import { useId } from 'react';
import { BrowseButtons } from '@/components/browse-buttons';
import { SelectField } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import type { Field } from '@/types/api';

const booleans = ['No', 'Yes'] as const;

const box =
  'w-full min-w-0 rounded-md border border-strong bg-panel px-2.5 text-sm placeholder:text-ink3 aria-invalid:border-bad';

/** One input of an installation. The value of a secret is hidden. */
export function InputField({
  field,
  value,
  wanted,
  onChange,
}: {
  field: Field;
  value: string;
  /** It is required and was empty on submit. */
  wanted: boolean;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const label = escapeControlCharacters(field.label.slice(0, 200));
  const choices = field.choices ?? [];
  const common = {
    id,
    value,
    spellCheck: false,
    autoCapitalize: 'off',
    'aria-required': field.required,
    'aria-invalid': wanted,
    'aria-describedby': `${id}-about`,
    placeholder: escapeControlCharacters((field.placeholder ?? '').slice(0, 200)) || undefined,
  };
  const isPath = field.format === 'filepath' || field.format === 'directory';
  return (
    <div>
      <div className="mb-1 flex flex-wrap items-baseline gap-x-2">
        {choices.length > 0 || field.format === 'boolean' ? (
          <span className="text-sm font-medium [overflow-wrap:anywhere]">{label}</span>
        ) : (
          <label htmlFor={id} className="text-sm font-medium [overflow-wrap:anywhere]">
            {label}
          </label>
        )}
        <span className="text-xs text-ink3">
          {[field.required ? 'required' : 'optional', field.secret && 'stored as a secret']
            .filter(Boolean)
            .join(' · ')}
        </span>
      </div>
      {choices.length > 0 || field.format === 'boolean' ? (
        <div className="@container">
          <SelectField
            label={label}
            narrows={false}
            value={value}
            options={[
              { value: '', text: field.default ? `${field.default} (default)` : 'Not set' },
              ...(choices.length > 0 ? choices : ['true', 'false']).map((choice) => ({
                value: choice,
                text:
                  choices.length > 0
                    ? escapeControlCharacters(choice)
                    : booleans[choice === 'true' ? 1 : 0],
              })),
            ]}
            onChange={onChange}
          />
        </div>
      ) : field.secret ? (
        <input
          {...common}
          type="password"
          autoComplete="new-password"
          onChange={(event) => onChange(event.target.value)}
          className={`${box} h-8`}
        />
      ) : field.multiple ? (
        <textarea
          {...common}
          rows={Math.min(8, Math.max(2, value.split('\n').length))}
          onChange={(event) => onChange(event.target.value)}
          className={`${box} block resize-y py-1.5 font-mono text-xs leading-[1.6]`}
        />
      ) : (
        <input
          {...common}
          inputMode={field.format === 'number' ? 'decimal' : undefined}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
          className={`${box} h-8`}
        />
      )}
      <p
        id={`${id}-about`}
        className="mt-1 text-xs text-ink3 [overflow-wrap:anywhere] empty:hidden"
      >
        {wanted && <span className="text-bad">Required. </span>}
        {field.description && `${escapeControlCharacters(field.description.slice(0, 600))} `}
        {field.multiple && 'One per line.'}
      </p>
      {isPath && (
        <BrowseButtons
          foldersOnly={field.format === 'directory'}
          onPick={(path) =>
            onChange(field.multiple && value.trim() ? `${value.trimEnd()}\n${path}` : path)
          }
        />
      )}
    </div>
  );
}
