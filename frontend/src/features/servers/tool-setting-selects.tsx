import { Eye, EyeOff } from 'lucide-react';
import { Button } from '@/components/button';
import { SelectField } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Approving, RecordMode, ToolWithSettings } from '@/types/api';
import { type Change, useToolSetting } from './tool-settings';

const approvalsTexts = withoutPrototypes({
  unset: 'Approval: default',
  never: 'Never ask',
  ask: 'Always ask',
  destructive: 'Ask if destructive',
  deny: 'Always deny',
} as const);

const timeoutOf = (s: number) => (s < 60 ? `Timeout: ${s} s` : `Timeout: ${s / 60} min`);

const recordsTexts = withoutPrototypes({
  unset: 'Record: default',
  full: 'Record: everything',
  meta: 'Record: metadata only',
  off: 'Record: nothing',
} as const);

const words = {
  selected: (n: number) => (n === 1 ? '1 selected tool' : `${n} selected tools`),
};

const approvals: Approving[] = ['', 'never', 'ask', 'destructive', 'deny'];
const records = ['', 'full', 'meta', 'off'] as const;
const timeouts = [0, 30_000, 60_000, 300_000, 600_000];

/** The settings that differ from the defaults, in a few words. */
export function ownSettings(settings: ToolWithSettings['settings']): string[] {
  const { approval, requestTimeoutMs, record, allowClients } = settings;
  return [
    approval && approvalsTexts[approval],
    requestTimeoutMs > 0 && timeoutOf(requestTimeoutMs / 1000),
    record && recordsTexts[record],
    allowClients.length > 0 && 'exceptions',
  ].filter((one): one is string => Boolean(one));
}

/** Approval, timeout and recording. Without `settings`, a choice is an action for several tools. */
export function SettingSelects({
  name,
  settings,
  onChange,
}: {
  name: string;
  settings?: ToolWithSettings['settings'];
  onChange: (part: Change) => void;
}) {
  const timeout = settings?.requestTimeoutMs ?? 0;
  return (
    <>
      <Select
        label={`Approval for ${name}`}
        action={settings ? undefined : 'Approval…'}
        value={settings?.approval ?? ''}
        options={approvals.map((value) => ({ value, text: approvalsTexts[value || 'unset'] }))}
        onChange={(value) => onChange({ approval: value === '' ? null : (value as Approving) })}
      />
      <Select
        label={`Timeout for ${name}`}
        action={settings ? undefined : 'Timeout…'}
        value={timeout === 0 ? '' : String(timeout)}
        options={[...new Set([...timeouts, timeout])].map((ms) => ({
          value: ms === 0 ? '' : String(ms),
          text: ms === 0 ? 'Timeout: default' : timeoutOf(ms / 1000),
        }))}
        onChange={(value) => onChange({ requestTimeoutMs: value === '' ? null : Number(value) })}
      />
      <Select
        label={`Recording for ${name}`}
        action={settings ? undefined : 'Recording…'}
        value={settings?.record ?? ''}
        options={records.map((value) => ({ value, text: recordsTexts[value || 'unset'] }))}
        onChange={(value) => onChange({ record: value === '' ? null : (value as RecordMode) })}
      />
    </>
  );
}

const none = 'choose';

function Select({
  label,
  action,
  value,
  options,
  onChange,
}: {
  label: string;
  /** What choosing does, shown instead of a value. */
  action: string | undefined;
  value: string;
  options: { value: string; text: string }[];
  onChange: (value: string) => void;
}) {
  return (
    <SelectField
      label={label}
      narrows={!action}
      uncut
      value={action ? none : value}
      options={action ? [{ value: none, text: action }, ...options] : options}
      onChange={(to) => to !== none && onChange(to)}
    />
  );
}

/** Selects tools, and changes the settings of all selected ones. */
export function BulkToolSettings({
  id,
  found,
  selected,
  onSelect,
}: {
  id: string;
  /** The tools that match the search. */
  found: ToolWithSettings[];
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
}) {
  const change = useToolSetting(id);
  // Only what is visible is changed.
  const tools = found.filter((one) => selected.has(one.tool));
  const names = tools.map((one) => one.tool);
  const all = tools.length === found.length && found.length > 0;
  const apply = (set: Change) =>
    change.mutate(
      { tools: names, set },
      {
        onSuccess: () =>
          toast('ok', names.length === 1 ? '1 tool changed.' : `${names.length} tools changed.`, {
            text: texts.care.undo,
            run: async () => {
              for (const [was, of] of previous(tools, set))
                await change.mutateAsync({ tools: of, set: was }).catch(() => undefined);
            },
          }),
      },
    );
  return (
    <div className="@container flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1.5 px-3 text-sm">
      <label className="flex items-center gap-3">
        <input
          type="checkbox"
          checked={all}
          ref={(box) => {
            if (box) box.indeterminate = !all && tools.length > 0;
          }}
          onChange={() => onSelect(new Set(all ? [] : found.map((one) => one.tool)))}
          className="size-4 shrink-0 accent-(--accent)"
        />
        {tools.length > 0 ? words.selected(tools.length) : `Select all ${found.length}`}
      </label>
      {tools.length > 0 && (
        <fieldset
          aria-label={words.selected(tools.length)}
          disabled={change.isPending}
          className="flex flex-wrap items-center gap-1.5"
        >
          <Button small onClick={() => apply({ enabled: null })}>
            <Eye className="size-3.5" aria-hidden />
            Show to clients
          </Button>
          <Button small onClick={() => apply({ enabled: false })}>
            <EyeOff className="size-3.5" aria-hidden />
            Hide from clients
          </Button>
          <SettingSelects
            name={escapeControlCharacters(words.selected(tools.length))}
            onChange={apply}
          />
        </fieldset>
      )}
    </div>
  );
}

/** The changes that restore what `set` replaces, each with its tools. */
function previous(tools: ToolWithSettings[], set: Change): [Change, string[]][] {
  const groups = new Map<string, string[]>();
  for (const { tool, settings } of tools) {
    const was: Change = {};
    if ('enabled' in set) was.enabled = settings.enabled ? null : false;
    if ('approval' in set) was.approval = settings.approval || null;
    if ('requestTimeoutMs' in set) was.requestTimeoutMs = settings.requestTimeoutMs || null;
    if ('record' in set) was.record = settings.record || null;
    const key = JSON.stringify(was);
    groups.set(key, [...(groups.get(key) ?? []), tool]);
  }
  return [...groups].map(([was, of]) => [JSON.parse(was) as Change, of]);
}
