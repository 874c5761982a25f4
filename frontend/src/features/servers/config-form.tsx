import { KeyRound, Plus, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { SelectField } from '@/components/fields';
import { plain } from '@/lib/format';
import { removeValue, setValue } from '@/lib/jsonc';
import { isSensitive } from '@/lib/mask-secrets';
import { messageOf } from '@/lib/request';
import { secretName, useSecret } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';

const t = texts.servers.config;
const box =
  'w-full min-w-0 rounded-md border border-strong bg-panel px-2.5 text-sm placeholder:text-ink3';
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The common options of an entry as fields. A change leaves the rest of its text unchanged. */
export function ConfigForm({
  server,
  entry,
  value,
  onChange,
}: {
  server: string;
  entry: string;
  value: Record<string, unknown>;
  onChange: (entry: string) => void;
}) {
  const set = (path: string[], to: unknown) => {
    const next =
      to === undefined || (to === '' && path.length === 1)
        ? removeValue(entry, path)
        : setValue(entry, path, JSON.stringify(to));
    if (next !== undefined) onChange(next);
  };
  const address = ['url', 'httpUrl'].find((name) => name in value);
  const isDocker = 'container' in value || 'docker' in value;
  const seconds = (name: string) =>
    typeof value[name] === 'number' ? String(Number(value[name]) / 1000) : '';
  const lines = (words: unknown) => (isStrings(words) ? words.join('\n') : '');
  return (
    <div className="max-w-2xl space-y-4">
      {address && (
        <Field label={texts.add.address}>
          {(id) => (
            <Line id={id} value={text(value[address])} onChange={(to) => set([address], to)} />
          )}
        </Field>
      )}
      {'container' in value && (
        <Field label={t.container}>
          {(id) => (
            <Line id={id} value={text(value.container)} onChange={(to) => set(['container'], to)} />
          )}
        </Field>
      )}
      {(!address || 'command' in value) && (
        <>
          <Field label={texts.servers.command}>
            {(id) => (
              <Line id={id} value={text(value.command)} onChange={(to) => set(['command'], to)} />
            )}
          </Field>
          {(value.args === undefined || isStrings(value.args)) && (
            <Field label={t.args} hint={t.argsHint}>
              {(id, about) => (
                <Lines
                  id={id}
                  about={about}
                  value={lines(value.args)}
                  onChange={(to) => set(['args'], to === '' ? undefined : to.split('\n'))}
                />
              )}
            </Field>
          )}
          {!isDocker && (
            <Field label={texts.add.folder}>
              {(id) => <Line id={id} value={text(value.cwd)} onChange={(to) => set(['cwd'], to)} />}
            </Field>
          )}
          <Pairs
            title={texts.add.environment}
            add={t.addVariable}
            server={server}
            value={value.env}
            onSet={(name, to) => set(['env', name], to)}
            onRemove={(name) => onChange(removeValue(entry, ['env', name]))}
          />
        </>
      )}
      {address && (
        <Pairs
          title={texts.add.headers}
          add={t.addHeader}
          server={server}
          value={value.headers}
          onSet={(name, to) => set(['headers', name], to)}
          onRemove={(name) => onChange(removeValue(entry, ['headers', name]))}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Choice
          label={t.start}
          value={text(value.start)}
          options={t.starts}
          onChange={(to) => set(['start'], to)}
        />
        <Choice
          label={t.approval}
          value={text(value.approval)}
          options={t.approvals}
          onChange={(to) => set(['approval'], to)}
        />
        {(['startupTimeoutMs', 'requestTimeoutMs'] as const).map((name) => (
          <Field key={name} label={t[name]}>
            {(id) => (
              <Line
                id={id}
                number
                value={seconds(name)}
                onChange={(to) =>
                  set([name], Number(to) > 0 ? Math.round(Number(to) * 1000) : undefined)
                }
              />
            )}
          </Field>
        ))}
      </div>
      {!address && (!isDocker || isRecord(value.docker)) && (
        <SandboxFields container={isDocker} value={value.sandbox} set={set} />
      )}
      <p className="text-xs text-ink3">{t.more}</p>
    </div>
  );
}

/** The sandbox, which is a word or an object. A setting makes an object of a word. */
function SandboxFields({
  container,
  value,
  set,
}: {
  container: boolean;
  value: unknown;
  set: (path: string[], to: unknown) => void;
}) {
  const own = isRecord(value) ? value : undefined;
  const mode = own ? text(own.mode) || 'on' : text(value);
  const setOne = (name: string, to: unknown) => {
    if (own) set(['sandbox', name], to === '' ? undefined : to);
    else set(['sandbox'], { ...(mode === 'on' ? {} : { mode }), [name]: to });
  };
  const { observe: _, ...modes } = t.sandboxes;
  return (
    <fieldset className="min-w-0 space-y-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Choice
          label={texts.servers.sandbox.title}
          value={mode}
          options={container ? modes : t.sandboxes}
          onChange={(to) => (own && to ? setOne('mode', to) : set(['sandbox'], to))}
        />
        {mode !== '' && mode !== 'off' && (
          <Choice
            label={t.network}
            value={text(own?.network)}
            options={t.allOrNone}
            onChange={(to) => setOne('network', to)}
          />
        )}
        {mode !== '' && mode !== 'off' && !container && (
          <Choice
            label={t.unixSockets}
            value={text(own?.unixSockets)}
            options={t.allOrNone}
            onChange={(to) => setOne('unixSockets', to)}
          />
        )}
      </div>
      {mode !== '' &&
        mode !== 'off' &&
        (['read', 'write'] as const).map(
          (name) =>
            (own?.[name] === undefined || isStrings(own[name])) && (
              <Field key={name} label={t.sandboxPaths[name]} hint={t.sandboxPathsHint}>
                {(id, about) => (
                  <Lines
                    id={id}
                    about={about}
                    value={isStrings(own?.[name]) ? own[name].join('\n') : ''}
                    onChange={(to) => setOne(name, to === '' ? '' : to.split('\n'))}
                  />
                )}
              </Field>
            ),
        )}
    </fieldset>
  );
}

function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: string;
  children: (id: string, about: string | undefined) => ReactNode;
}) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children(id, hint && `${id}-about`)}
      {hint && (
        <p id={`${id}-about`} className="mt-1 text-xs text-ink3">
          {hint}
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

function Line({ id, value, number = false, onChange }: Typed & { number?: boolean }) {
  return (
    <input
      id={id}
      value={value}
      type={number ? 'number' : 'text'}
      min={number ? 0 : undefined}
      step={number ? 'any' : undefined}
      placeholder={number ? t.unset : undefined}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      className={`${box} h-8`}
    />
  );
}

function Lines({ id, value, about, onChange }: Typed & { about: string | undefined }) {
  return (
    <textarea
      id={id}
      aria-describedby={about}
      value={value}
      rows={Math.min(12, Math.max(2, value.split('\n').length))}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
      className={`${box} py-1.5 font-mono text-xs leading-5`}
    />
  );
}

function Choice({
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
function Pairs({
  title,
  add,
  server,
  value,
  onSet,
  onRemove,
}: {
  title: string;
  add: string;
  server: string;
  value: unknown;
  onSet: (name: string, value: string) => void;
  onRemove: (name: string) => void;
}) {
  const [name, setName] = useState('');
  const store = useSecret();
  const pairs = Object.entries((value ?? {}) as Record<string, unknown>);
  const addRow = () => {
    if (name.trim() && !pairs.some(([one]) => one === name.trim())) onSet(name.trim(), '');
    setName('');
  };
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">{title}</legend>
      <ul className="space-y-2">
        {pairs.map(([one, raw]) => {
          const current = text(raw);
          const refers = /\$\{[^}]+\}/.test(current);
          const hidden = !refers && isSensitive(one, current);
          return (
            <li key={one} className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <code className="w-44 min-w-0 font-mono text-xs [overflow-wrap:anywhere]">
                {plain(one)}
              </code>
              <input
                aria-label={plain(one)}
                type={hidden ? 'password' : 'text'}
                autoComplete={hidden ? 'new-password' : 'off'}
                spellCheck={false}
                value={current}
                onChange={(event) => onSet(one, event.target.value)}
                className={`${box} h-8 flex-1 basis-40 font-mono text-xs`}
              />
              {hidden && current !== '' && (
                <Button
                  small
                  disabled={store.isPending}
                  onClick={() => {
                    const secret = secretName(server, one);
                    store.mutate(
                      { name: secret, value: current },
                      {
                        onSuccess: () => onSet(one, `\${secret:${secret}}`),
                        onError: (error) => toast('bad', plain(messageOf(error))),
                      },
                    );
                  }}
                >
                  <KeyRound className="size-3.5" aria-hidden />
                  {t.storeSecret}
                </Button>
              )}
              <IconButton small label={t.remove(plain(one))} onClick={() => onRemove(one)}>
                <X className="size-3.5" aria-hidden />
              </IconButton>
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
    </fieldset>
  );
}
