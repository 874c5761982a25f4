import { Choice, isStrings, NumberField, Pairs, text } from '@/components/config-fields';
import { LinesField, TextField } from '@/components/text-field';
import { setEdit } from '@/lib/config-edits';
import { isRecord } from '@/lib/own-property';
import { secretName } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import type { Edit } from '@/types/api';
import { AccountFields } from './account-fields';
import { type Fault, takesAccounts } from './accounts';

const t = texts.servers.config;
const timeouts = [
  ['startupTimeoutMs', 'Start timeout (seconds)'],
  ['requestTimeoutMs', t.requestTimeoutMs],
] as const;
const allOrNone = { any: 'Any', none: 'None' };
const sandboxPaths = [
  ['read', 'Additional readable paths'],
  ['write', 'Additional writable paths'],
] as const;

/** The common options of an entry as fields. */
export function ConfigForm({
  server,
  label,
  saved,
  value,
  faults,
  onEdit,
  onTakeBack,
}: {
  server: string;
  /** Its name in the file. */
  label: string;
  /** The entry in the file. */
  saved: unknown;
  value: Record<string, unknown>;
  /** The errors of the last attempt to save. */
  faults: Fault[];
  onEdit: (edit: Edit) => void;
  /** Takes an edit back, or else makes another one. */
  onTakeBack: (edit: Edit, otherwise: Edit) => void;
}) {
  const set = (path: string[], to: unknown) =>
    onEdit(setEdit(path, to === '' && path.length === 1 ? undefined : to));
  const address = ['url', 'httpUrl'].find((name) => name in value);
  const isDocker = 'container' in value || 'docker' in value;
  const seconds = (name: string) =>
    typeof value[name] === 'number' ? String(Number(value[name]) / 1000) : '';
  const lines = (words: unknown) => (isStrings(words) ? words.join('\n') : '');
  return (
    <div className="max-w-2xl space-y-4">
      {address && (
        <TextField label="URL" value={text(value[address])} onChange={(to) => set([address], to)} />
      )}
      {'container' in value && (
        <TextField
          label="Container"
          value={text(value.container)}
          onChange={(to) => set(['container'], to)}
        />
      )}
      {(!address || 'command' in value) && (
        <>
          <TextField
            label="Command"
            value={text(value.command)}
            onChange={(to) => set(['command'], to)}
          />
          {(value.args === undefined || isStrings(value.args)) && (
            <LinesField
              label="Arguments"
              hint="One per line."
              value={lines(value.args)}
              onChange={(to) => set(['args'], to === '' ? undefined : to.split('\n'))}
            />
          )}
          {!isDocker && (
            <TextField
              label="Working folder"
              value={text(value.cwd)}
              onChange={(to) => set(['cwd'], to)}
            />
          )}
          <Pairs
            title="Environment"
            add="New variable"
            secretOf={(name) => secretName(server, name)}
            value={value.env}
            onSet={(name, to) => set(['env', name], to)}
            onRemove={(name) => set(['env', name], undefined)}
          />
        </>
      )}
      {address && (
        <Pairs
          title="Headers"
          add="New header"
          secretOf={(name) => secretName(server, name)}
          value={value.headers}
          onSet={(name, to) => set(['headers', name], to)}
          onRemove={(name) => set(['headers', name], undefined)}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Choice
          label="Start mode"
          value={text(value.start)}
          options={t.starts}
          unset={t.defaults.start}
          onChange={(to) => set(['start'], to)}
        />
        <Choice
          label="Call approval"
          value={text(value.approval)}
          options={t.approvals}
          unset="As in Settings"
          onChange={(to) => set(['approval'], to)}
        />
        {timeouts.map(([name, label]) => (
          <NumberField
            key={name}
            label={label}
            placeholder={t.defaults[name]}
            value={seconds(name)}
            onChange={(to) =>
              set([name], Number(to) > 0 ? Math.round(Number(to) * 1000) : undefined)
            }
          />
        ))}
      </div>
      {!address && (!isDocker || isRecord(value.docker)) && (
        <SandboxFields container={isDocker} value={value.sandbox} set={set} />
      )}
      {takesAccounts(value) && (
        <AccountFields
          server={server}
          label={label}
          saved={saved}
          value={value}
          faults={faults}
          set={set}
          onEdit={onEdit}
          onTakeBack={onTakeBack}
        />
      )}
      <p className="text-xs text-ink3">All other options can be edited as text.</p>
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
  return (
    <fieldset className="space-y-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Choice
          label="Sandbox"
          value={mode}
          options={{ off: 'Off', on: 'On' }}
          unset={t.defaults.sandbox}
          onChange={(to) => (own && to ? setOne('mode', to) : set(['sandbox'], to))}
        />
        {mode !== '' && mode !== 'off' && (
          <Choice
            label="Network"
            value={text(own?.network)}
            options={allOrNone}
            unset={container ? undefined : t.defaults.network}
            onChange={(to) => setOne('network', to)}
          />
        )}
        {mode !== '' && mode !== 'off' && !container && (
          <Choice
            label="Unix sockets"
            value={text(own?.unixSockets)}
            options={allOrNone}
            unset={t.defaults.unixSockets}
            onChange={(to) => setOne('unixSockets', to)}
          />
        )}
      </div>
      {mode !== '' &&
        mode !== 'off' &&
        sandboxPaths.map(
          ([name, label]) =>
            (own?.[name] === undefined || isStrings(own[name])) && (
              <LinesField
                key={name}
                label={label}
                hint="One path per line: absolute, or with ~/ at the beginning."
                value={isStrings(own?.[name]) ? own[name].join('\n') : ''}
                onChange={(to) => setOne(name, to === '' ? '' : to.split('\n'))}
              />
            ),
        )}
    </fieldset>
  );
}
