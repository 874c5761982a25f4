import { useQuery } from '@tanstack/react-query';
import { ShieldAlert } from 'lucide-react';
import { Button } from '@/components/button';
import { GuardedItem, GuardedList } from '@/components/guarded-list';
import { UnifiedDiff } from '@/components/lazy-code-editor';
import { More } from '@/components/more';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import type { DiffLine, ToolChange, ToolWarning } from '@/types/api';
import { changesQuery, useToolDecision } from './api';
import { summaryOf } from './change-summary';

export const instructions = 'The server’s instructions';

export const changeStates = withoutPrototypes({
  waiting: 'Changed since trusted',
  blocked: 'Blocked by you',
  added: 'New',
  changed: 'Changed',
  removed: 'Removed',
} as const);

const nameOf = (kind: string, name: string) =>
  ({
    instructions,
    prompt: `Prompt ${name}`,
    resource: `Resource ${name}`,
    template: `Resource template ${name}`,
  })[kind] ?? name;

const words = {
  accept: 'Accept',
  always: 'Always accept',
  block: 'Block',
};

const most = 50;

/** The withheld changes of a server: the diff of each tool, and the actions for it. */
export function ToolChanges({ server }: { server: string }) {
  const { data: changes } = useQuery(changesQuery(server));
  if (!changes || changes.length === 0) return null;
  return (
    <>
      {changes.length > 1 && <p className="mb-2 text-sm text-ink2">{summaryOf(changes)}</p>}
      <GuardedList className="space-y-3">
        {changes.slice(0, most).map((change) => (
          <Change key={`${change.kind} ${change.name}`} change={change} />
        ))}
      </GuardedList>
      <More of={changes.length} shown={most} />
    </>
  );
}

function Change({ change }: { change: ToolChange }) {
  const word = useToolDecision();
  const say = (action: 'accept' | 'always' | 'block') =>
    word.mutate({
      server: change.server,
      kind: change.kind,
      tool: change.name,
      action,
      hash: change.newHash,
    });
  const wary = (change.warnings ?? []).some(isAttackWarning);
  const name = nameOf(change.kind, escapeControlCharacters(change.name.slice(0, 200)));
  return (
    <GuardedItem id={`${change.kind} ${change.name}`} className="rounded-md border bg-panel p-3">
      <p className="font-medium [overflow-wrap:anywhere]">{name}</p>
      <p className="text-xs text-ink3">{changeStates[change.state]}</p>
      <Warnings list={change.warnings ?? []} />
      <ToolDiff
        lines={change.diff ?? []}
        label={`Changes to ${`${escapeControlCharacters(change.server)} / ${name}`}`}
      />
      <div className="mt-3 flex flex-wrap gap-2">
        <Button
          look={wary ? 'secondary' : 'primary'}
          small
          disabled={word.isPending}
          aria-label={`${words.accept}: ${name}`}
          onClick={() => say('accept')}
        >
          {words.accept}
        </Button>
        <Button
          small
          disabled={word.isPending}
          title="Accept this and all later changes. Use this for descriptions that contain a date or a counter."
          aria-label={`${words.always}: ${name}`}
          onClick={() => say('always')}
        >
          {words.always}
        </Button>
        {change.state === 'waiting' && (
          <Button
            small
            look={wary ? 'danger' : 'secondary'}
            disabled={word.isPending}
            aria-label={`${words.block}: ${name}`}
            onClick={() => say('block')}
          >
            {words.block}
          </Button>
        )}
      </div>
    </GuardedItem>
  );
}

/** The changed lines of a definition. */
export function ToolDiff({ lines, label }: { lines: DiffLine[]; label: string }) {
  if (lines.length === 0) return null;
  return (
    <div className="mt-2">
      <UnifiedDiff lines={shownLines(lines)} label={label} />
    </div>
  );
}

const kinds = { same: 'same', old: 'removed', new: 'added', gap: 'hunk' } as const;

/** The lines of a diff as they are shown. */
export function shownLines(lines: DiffLine[]) {
  const escaped = (text: string) => escapeControlCharacters(text.slice(0, 20_000));
  const textsOf = (op: DiffLine['op']) =>
    new Set(lines.filter((line) => line.op === op).map((line) => escaped(line.text)));
  const [old, now] = [textsOf('old'), textsOf('new')];
  const left = { same: 5000, old: 5000, new: 5000, gap: 5000 }; // so that old lines do not hide new ones
  return lines
    .filter(({ op }) => left[op]-- > 0)
    .map(({ op, text }) => {
      const shown = escaped(text);
      // Lines that differ in invisible characters only must not look unchanged.
      const alike = old.has(shown) && now.has(shown) && (op === 'old' || op === 'new');
      return {
        kind: kinds[op],
        text: op === 'gap' ? `@@ ${shown} @@` : alike ? spelledOut(text.slice(0, 20_000)) : shown,
      };
    });
}

const spelledOut = (text: string) =>
  text.replace(/[\p{C}\p{Z}]/gu, (char) =>
    char === ' ' ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );

/** Whether a warning indicates an attack; a name that two servers use for a tool does not. */
export const isAttackWarning = (warning: ToolWarning) => warning.code !== 'same-name';

/** The warnings that indicate an attack, each with the finding. */
export function Warnings({ list }: { list: ToolWarning[] }) {
  const shown = list.filter(isAttackWarning);
  if (shown.length === 0) return null;
  return (
    <ul className="mt-2 space-y-1.5 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
      {shown.map((warning) => (
        <li key={`${warning.code} ${warning.where} ${warning.reason}`} className="flex gap-2">
          <ShieldAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            {escapeControlCharacters(warning.reason)}
            {warning.quote && (
              <span className="block font-mono text-xs">
                {escapeControlCharacters(warning.quote.slice(0, 400))}
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
