import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import { useMemo } from 'react';
import { Button } from '@/components/button';
import { DiffView } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { Labelled } from '@/components/fields';
import { LongText } from '@/components/json-view';
import { OutcomeBadge } from '@/components/outcome-badge';
import { ScrollArea } from '@/components/scroll-area';
import { exactTime, sentence } from '@/lib/format';
import { request } from '@/lib/request';
import type { Approval, Outcome } from '@/types/api';
import { pastQuery } from './api';
import { readEffect, showHidden } from './effect-text';

/** What a call would do, as far as it is known, what is deceptive about it, and what was before. */
export function Effect({ approval }: { approval: Approval }) {
  return (
    <div className="mt-3 space-y-3 empty:hidden">
      {(approval.warnings ?? []).map((text) => (
        <Warning key={text} text={text} />
      ))}
      {(approval.files ?? []).map((file) => (
        <Labelled
          key={file.path}
          label={showHidden(`Effect on ${file.path}, computed by Drawbridge`)}
        >
          {file.note && <p className="mb-1.5 text-sm text-ink2">{showHidden(file.note)}</p>}
          {file.diff && (
            <DiffView
              diff={showHidden(file.diff)}
              label={showHidden(`Effect of call ${approval.callId} on ${file.path}`)}
            />
          )}
        </Labelled>
      ))}
      {approval.preview && <PreviewBox approval={approval} preview={approval.preview} />}
      <PastCalls approval={approval} />
    </div>
  );
}

const Warning = ({ text }: { text: string }) => (
  <p className="flex gap-2 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
    <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
    <span className="min-w-0 [overflow-wrap:anywhere]">{showHidden(text)}</span>
  </p>
);

type Preview = NonNullable<Approval['preview']>;

function PreviewBox({ approval, preview }: { approval: Approval; preview: Preview }) {
  const act = useMutation({
    mutationFn: (action: 'run' | 'honoured' | 'ignored') =>
      request('POST', `/api/v1/approvals/${encodeURIComponent(approval.id)}/preview`, {
        body: { action },
      }),
  });
  const name = showHidden(preview.argument);
  const running = preview.state === 'running';
  const ran = preview.state === 'done' || preview.state === 'failed';
  return (
    <section
      aria-label={`Preview of call ${approval.callId}`}
      className="space-y-2 rounded-md border p-3"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm">
        <p className="min-w-0 flex-1 basis-60 text-ink2">{explain(preview, name)}</p>
        {preview.state !== 'ignored' ? (
          <Button
            small
            disabled={running || act.isPending}
            aria-keyshortcuts="P"
            data-key="p"
            onClick={() => act.mutate('run')}
          >
            {running ? 'Running…' : ran ? 'Run preview again' : 'Run preview'}
          </Button>
        ) : (
          <Button small disabled={act.isPending} onClick={() => act.mutate('honoured')}>
            It changed nothing
          </Button>
        )}
      </div>
      {preview.problem &&
        (preview.state === 'ignored' ? (
          <Warning text={preview.problem} />
        ) : (
          <p className="text-sm text-warn">{showHidden(sentence(preview.problem))}</p>
        ))}
      {preview.text && <EffectView text={preview.text} call={approval.callId ?? ''} />}
      {ran && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink3">
          {preview.callId && (
            <Link
              to="/calls/$id"
              params={{ id: preview.callId }}
              className="text-accent underline-offset-2 hover:underline"
            >
              Show the run
            </Link>
          )}
          <button
            type="button"
            className="text-accent underline-offset-2 hover:underline"
            disabled={act.isPending}
            onClick={() => act.mutate('ignored')}
          >
            It has made the change
          </button>
          {!preview.checked && (
            <button
              type="button"
              className="text-accent underline-offset-2 hover:underline"
              disabled={act.isPending}
              onClick={() => act.mutate('honoured')}
            >
              It changed nothing
            </button>
          )}
        </p>
      )}
      <Failure error={act.error} />
    </section>
  );
}

function explain({ state, checked }: Preview, name: string): string {
  if (state === 'ignored') return `The tool does not honour “${name}” and is not previewed.`;
  if (state === 'running') return `The tool runs with “${name}”.`;
  if (state === 'done' || state === 'failed')
    return checked
      ? `What the tool returned with “${name}”. The run changed nothing that Drawbridge can see.`
      : `What the tool returned with “${name}”. Drawbridge cannot tell whether the run changed something.`;
  return checked
    ? `The tool can show what it would change: it runs with “${name}”.`
    : `The server says that “${name}” only shows what would change. Drawbridge has not seen that yet: a tool that ignores it makes the change.`;
}

/** The result of a preview: a diff, a table of objects, or text. */
export function EffectView({ text, call }: { text: string; call: string }) {
  const shown = useMemo(() => showHidden(text), [text]);
  const effect = useMemo(() => readEffect(shown), [shown]);
  if (effect.kind === 'diff')
    return (
      <div className="space-y-2">
        {effect.before && (
          <PlainText text={effect.before} label={`Before the difference of call ${call}`} />
        )}
        <DiffView diff={effect.diff} label={`Difference of the preview of call ${call}`} />
        {effect.after && (
          <PlainText text={effect.after} label={`After the difference of call ${call}`} />
        )}
      </div>
    );
  if (effect.kind === 'text')
    return <PlainText text={shown} label={`Result of the preview of call ${call}`} />;
  return (
    <ScrollArea
      aria-label={`Changes of the preview of call ${call}`}
      className="max-h-80 rounded-md border"
    >
      <table className="w-full text-left text-xs">
        <thead className="sticky top-0 bg-sunken text-ink3">
          <tr>
            {effect.columns.map((name) => (
              <th key={name} scope="col" className="px-2 py-1.5 font-medium">
                <LongText text={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y">
          {effect.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity and do not move
            <tr key={at}>
              {row.map((value, column) => (
                <td
                  key={effect.columns[column]}
                  className="max-w-80 px-2 py-1 align-top [overflow-wrap:anywhere]"
                >
                  <LongText text={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {effect.more > 0 && <p className="px-2 py-1 text-xs text-ink3">{`${effect.more} more`}</p>}
    </ScrollArea>
  );
}

const PlainText = ({ text, label }: { text: string; label: string }) => (
  <ScrollArea
    aria-label={label}
    className="max-h-80 rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
  >
    <LongText text={text} />
  </ScrollArea>
);

/** The last calls of the same client to this tool. */
function PastCalls({ approval }: { approval: Approval }) {
  const { data: past } = useQuery(pastQuery(approval.id));
  if (!past || past.calls.length + past.approved + past.refused === 0) return null;
  return (
    <details className="text-sm">
      <summary className="w-fit cursor-pointer text-ink2">
        {[
          past.calls.length > 0 && `Earlier calls by this client: ${past.calls.length} shown`,
          past.approved + past.refused > 0 &&
            `Earlier answers: ${past.approved} approved, ${past.refused} denied`,
        ]
          .filter(Boolean)
          .join('. ')}
      </summary>
      <ul className="mt-2 space-y-2">
        {past.calls.map((call) => (
          <li key={call.id} className="min-w-0 text-xs">
            <Link
              to="/calls/$id"
              params={{ id: call.id }}
              className="mr-2 text-accent underline-offset-2 hover:underline"
            >
              {exactTime(call.at)}
            </Link>
            <OutcomeBadge outcome={call.outcome as Outcome} />
            <p className="mt-0.5 font-mono text-ink2 [overflow-wrap:anywhere]">
              <LongText text={showHidden(call.arguments)} />
            </p>
            {call.result && (
              <p className="mt-0.5 font-mono text-ink3 [overflow-wrap:anywhere]">
                <LongText text={showHidden(call.result)} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
