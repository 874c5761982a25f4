import { Plus, X } from 'lucide-react';
import { type ReactNode, useId, useRef, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { SelectChevron } from '@/components/fields';
import { type Field, initialText, lacksValue, type Member, readSchema } from '@/lib/form-schema';
import { escapeControlCharacters } from '@/lib/format';
import { isNumber, withElement, withMember } from '@/lib/json-edit';
import { isJson, jsonElements, jsonMembers, jsonString } from '@/lib/json-text';

const box =
  'block w-full rounded-md border border-strong bg-panel px-2.5 py-1.5 text-sm text-ink aria-invalid:border-bad';

interface Editing {
  /** JSON text; undefined if absent. */
  raw: string | undefined;
  /** Undefined removes the value. */
  onChange: (raw: string | undefined) => void;
}

/**
 * A form for JSON text: every control reads its part of the text and writes it back, so that a
 * number keeps the typed digits. A value that does not match its field is sent as a string, with a
 * notice; a tool can be tried with invalid arguments on purpose.
 */
export function ObjectForm({
  field,
  text,
  wanted = false,
  onChange,
}: {
  field: Field;
  text: string;
  /** Marks the required members without a value. */
  wanted?: boolean | undefined;
  onChange: (text: string) => void;
}) {
  const values = jsonMembers(text) ?? new Map<string, string>();
  const known = new Set(field.members.map((member) => member.name));
  const others: Member[] = [...values.keys()]
    .filter((name) => !known.has(name))
    .map((name) => ({ name, required: false, field: anything }));
  return (
    <div className="space-y-3">
      {[...field.members, ...others].map((member) => (
        <MemberField
          key={member.name}
          member={member}
          raw={values.get(member.name)}
          wanted={wanted}
          onChange={(raw) => onChange(withMember(text, member.name, raw))}
        />
      ))}
    </div>
  );
}

const anything = readSchema('{}');

function MemberField({
  member,
  raw,
  wanted,
  onChange,
}: Editing & { member: Member; wanted: boolean }) {
  const { field, required } = member;
  const missing = wanted && lacksValue(member, raw);
  const id = useId();
  const name = escapeControlCharacters(field.title || member.name);
  const grouped = field.kind === 'object' || field.kind === 'list';
  const head = (
    <>
      <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
      {field.title && field.title !== member.name && (
        <code className="font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
          {escapeControlCharacters(member.name)}
        </code>
      )}
      <span className="text-xs text-ink3">{required ? 'required' : 'optional'}</span>
    </>
  );
  const note = field.description && (
    <p
      id={`${id}-note`}
      className="mt-1 max-w-prose text-xs whitespace-pre-wrap text-ink3 [overflow-wrap:anywhere]"
    >
      {escapeControlCharacters(field.description)}
    </p>
  );
  const control = (
    <Control
      id={id}
      field={field}
      required={required}
      raw={raw}
      wanted={wanted}
      missing={missing}
      onChange={onChange}
      note={missing ? `${id}-missing` : field.description ? `${id}-note` : undefined}
    />
  );
  if (grouped) {
    return (
      <fieldset className="rounded-md border p-3">
        <legend className="flex flex-wrap items-baseline gap-x-2 px-1 text-sm">{head}</legend>
        {control}
        {note}
      </fieldset>
    );
  }
  return (
    <div data-missing={missing || undefined}>
      <label htmlFor={id} className="mb-1 flex flex-wrap items-baseline gap-x-2 text-sm">
        {head}
      </label>
      {control}
      <Fault id={`${id}-missing`}>
        {missing && `Enter a value: ${name} is required. It can only be sent empty as JSON.`}
      </Fault>
      {note}
    </div>
  );
}

interface ControlProps extends Editing {
  id: string;
  field: Field;
  required: boolean;
  note: string | undefined;
  label?: string;
  wanted?: boolean;
  missing?: boolean;
}

function Control(props: ControlProps) {
  switch (props.field.kind) {
    case 'text':
      return <TextControl {...props} />;
    case 'number':
      return <NumberControl {...props} />;
    case 'boolean':
      return (
        <ChoiceControl
          {...props}
          choices={[
            { raw: 'true', text: 'true' },
            { raw: 'false', text: 'false' },
          ]}
        />
      );
    case 'choice':
      return <ChoiceControl {...props} choices={props.field.choices} />;
    case 'list':
      return <ListControl {...props} />;
    case 'object':
      return (
        <ObjectForm
          field={props.field}
          text={props.raw ?? '{}'}
          wanted={props.wanted}
          onChange={props.onChange}
        />
      );
    case 'json':
      return <JsonControl {...props} />;
  }
}

const isDate = /^\d{4}-\d\d-\d\d$/;

function TextControl({ id, field, required, raw, onChange, note, label, missing }: ControlProps) {
  const text = jsonString(raw) ?? raw ?? '';
  const type = (event: { target: { value: string } }) => {
    const typed = event.target.value;
    onChange(typed === '' && !required ? undefined : JSON.stringify(typed));
  };
  // A field for dates would show nothing of what is not a date.
  if (
    field.format &&
    !text.includes('\n') &&
    (field.format !== 'date' || text === '' || isDate.test(text))
  )
    return (
      <input
        id={id}
        type={field.format}
        aria-label={label}
        aria-invalid={missing}
        aria-describedby={note}
        value={text}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={type}
        className={`${box} ${field.format === 'date' ? 'max-w-60' : ''}`}
      />
    );
  return (
    <textarea
      id={id}
      aria-label={label}
      aria-invalid={missing}
      aria-describedby={note}
      rows={Math.min(10, text.split('\n').length)}
      value={text}
      spellCheck={false}
      autoCapitalize="off"
      onChange={type}
      className={`${box} max-h-80 min-h-8 [field-sizing:content] ${text.length > 60 || text.includes('\n') ? 'resize-y' : 'resize-none'}`}
    />
  );
}

function NumberControl({ id, field, raw, onChange, note, label }: ControlProps) {
  const text = jsonString(raw) ?? raw ?? '';
  const fault =
    text === '' || (isNumber(text) && !(field.whole && /[.eE]/.test(text)))
      ? undefined
      : isNumber(text)
        ? 'A whole number is expected.'
        : 'This is not a number; it is sent as text.';
  return (
    <>
      <input
        id={id}
        aria-label={label}
        aria-invalid={fault !== undefined}
        aria-describedby={fault ? `${id}-fault` : note}
        value={text}
        inputMode={field.whole ? 'numeric' : 'decimal'}
        autoComplete="off"
        onChange={(event) => {
          const typed = event.target.value.trim();
          onChange(typed === '' ? undefined : isNumber(typed) ? typed : JSON.stringify(typed));
        }}
        className={`${box} max-w-60 font-mono`}
      />
      <Fault id={`${id}-fault`}>{fault}</Fault>
    </>
  );
}

function ChoiceControl({
  id,
  required,
  raw,
  onChange,
  note,
  label,
  choices,
}: ControlProps & { choices: Field['choices'] }) {
  const at = choices.findIndex((choice) => choice.raw === raw);
  return (
    <div className="relative w-fit max-w-full min-w-40">
      <select
        id={id}
        aria-label={label}
        aria-describedby={note}
        value={at < 0 ? (raw === undefined ? '' : 'own') : String(at)}
        onChange={(event) => onChange(choices[Number(event.target.value || Number.NaN)]?.raw)}
        className={`${box} appearance-none truncate pr-8`}
      >
        {(!required || at < 0) && <option value="">Not set</option>}
        {at < 0 && raw !== undefined && (
          <option value="own">{escapeControlCharacters(raw.slice(0, 200))}</option>
        )}
        {choices.map((choice, index) => (
          <option key={choice.raw} value={index}>
            {escapeControlCharacters(choice.text.slice(0, 200))}
          </option>
        ))}
      </select>
      <SelectChevron />
    </div>
  );
}

function ListControl({ id, field, required, raw, onChange }: ControlProps) {
  const elements = jsonElements(raw ?? '[]') ?? [];
  const item = field.item ?? anything;
  const set = (index: number, value: string | undefined) =>
    onChange(withElement(raw ?? '[]', index, value));
  return (
    <div className="space-y-2">
      {elements.map((element, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: elements have no other identity
        <div key={index} className="flex items-start gap-1">
          <div className="min-w-0 flex-1">
            <Control
              id={`${id}-${index}`}
              label={`Item ${index + 1}`}
              field={item}
              required
              raw={element}
              onChange={(value) => set(index, value ?? '""')}
              note={undefined}
            />
          </div>
          <IconButton
            label={`Remove item ${index + 1}`}
            onClick={() =>
              elements.length === 1 && !required ? onChange(undefined) : set(index, undefined)
            }
          >
            <X className="size-4" aria-hidden />
          </IconButton>
        </div>
      ))}
      <Button small onClick={() => set(elements.length, initialText(item))}>
        <Plus className="size-3.5" aria-hidden />
        Add item
      </Button>
    </div>
  );
}

/** Any JSON. The text stays as typed while it is not valid JSON. */
function JsonControl({ id, raw, onChange, note, label }: ControlProps) {
  const [draft, setDraft] = useState(raw ?? '');
  const sent = useRef(raw);
  if (raw !== sent.current) {
    sent.current = raw;
    setDraft(raw ?? '');
  }
  const broken = draft.trim() !== '' && !isJson(draft);
  return (
    <>
      <textarea
        id={id}
        aria-label={label}
        aria-invalid={broken}
        aria-describedby={broken ? `${id}-fault` : note}
        rows={Math.min(8, Math.max(1, draft.split('\n').length))}
        value={draft}
        placeholder="JSON"
        spellCheck={false}
        autoCapitalize="off"
        onChange={(event) => {
          const typed = event.target.value;
          setDraft(typed);
          sent.current =
            typed.trim() === '' ? undefined : isJson(typed) ? typed : JSON.stringify(typed);
          onChange(sent.current);
        }}
        className={`${box} max-h-80 min-h-8 resize-y font-mono text-xs placeholder:text-ink3`}
      />
      <Fault id={`${id}-fault`}>
        {broken ? 'This is not valid JSON; it is sent as text.' : undefined}
      </Fault>
    </>
  );
}

function Fault({ id, children }: { id: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <p id={id} className="mt-1 text-xs text-bad">
      {children}
    </p>
  );
}
