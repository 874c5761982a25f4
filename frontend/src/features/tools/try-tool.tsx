import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, LoaderCircle, Play } from 'lucide-react';
import { useId, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button } from '@/components/button';
import { DraftRestored } from '@/components/draft-restored';
import { EditorMessages } from '@/components/editor-messages';
import { JsonView } from '@/components/json-view';
import { CodeEditor } from '@/components/lazy-code-editor';
import { ResultText } from '@/components/result-text';
import { ObjectForm } from '@/components/schema-form';
import { TabList, TabPanel, Tabs } from '@/components/segmented-control';
import { readDraft, useDraft } from '@/lib/drafts';
import { initialText, isComplete, readSchema } from '@/lib/form-schema';
import { duration, escapeControlCharacters } from '@/lib/format';
import { formatJson, jsonMembers } from '@/lib/json-text';
import { jsonFault } from '@/lib/jsonc';
import { useNow } from '@/lib/now';
import { hasMarks } from '@/lib/redaction-marks';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import { useLocalToast } from '@/lib/toast';
import type { Tool } from '@/types/api';
import { runTool, type ToolAnswer } from './api';

export const noParameters = 'This tool takes no parameters.';

const words = {
  arguments: 'Arguments (JSON)',
};

type Run =
  | { phase: 'idle' }
  | { phase: 'running'; since: number }
  | { phase: 'answered'; answer: ToolAnswer }
  | { phase: 'failed'; message: string };

/** The error in the typed arguments, or undefined if they can be sent. */
export function argumentsFault(text: string): string | undefined {
  const fault = jsonFault(text);
  if (fault) return texts.editor.syntax(fault.line, fault.column);
  return jsonMembers(text) === undefined ? 'The arguments must be a JSON object: { … }' : undefined;
}

/**
 * Calls a tool with arguments from a form or from JSON, which are two views of the same text. The
 * call continues if the user leaves the page, for example to watch it in the list of calls.
 */
export function TryTool({ tool, begin }: { tool: Tool; begin?: string | undefined }) {
  const schema = useMemo(() => readSchema(tool.inputSchema), [tool.inputSchema]);
  const hasForm = schema.kind === 'object';
  const first = () => formatJson(begin ?? (hasForm ? initialText(schema) : '{}'));
  const draft = `try ${tool.name} ${(begin ?? '').slice(0, 200)}`;
  const [args, setArgs] = useState(() => readDraft<string>(draft) ?? first());
  const restored = useDraft(draft, args === first() ? undefined : args);
  const say = useLocalToast();
  const reset = () => {
    const typed = args;
    setArgs(first());
    setWanted(false);
    if (typed !== first())
      say('ok', texts.care.typedGone, { text: texts.care.undo, run: () => setArgs(typed) });
  };
  const [view, setView] = useState<'form' | 'json'>(hasForm ? 'form' : 'json');
  const [bare, setBare] = useState(() => takesNothing(tool.inputSchema) && args === '{}');
  const [run, setRun] = useState<Run>({ phase: 'idle' });
  const abort = useRef<AbortController | null>(null);
  const [wanted, setWanted] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const id = useId();

  const fault = argumentsFault(args);
  const unfilled = begin !== undefined && hasMarks(begin) && hasMarks(args);
  const place = jsonFault(args);
  const start = async () => {
    if (fault || unfilled || run.phase === 'running') return;
    if (view === 'form' && !bare && !isComplete(schema, args)) {
      flushSync(() => setWanted(true));
      const first = form.current?.querySelector('[data-missing] :is(input, textarea, select)');
      if (first instanceof HTMLElement) first.focus();
      return;
    }
    const controller = new AbortController();
    abort.current = controller;
    setRun({ phase: 'running', since: Date.now() });
    try {
      const answer = await runTool(tool, args, controller.signal);
      setRun({ phase: 'answered', answer });
    } catch (error) {
      setRun({
        phase: 'failed',
        message: controller.signal.aborted ? 'Cancelled.' : messageOf(error),
      });
    }
  };
  return (
    <Tabs value={view} onChange={setView} className="space-y-3">
      <p className="text-sm text-ink2">Calls the tool and records the call.</p>
      {restored && <DraftRestored onDiscard={reset} />}
      {hasForm && (
        <TabList
          label="Input mode"
          options={[
            { value: 'form', text: 'Form' },
            { value: 'json', text: 'JSON' },
          ]}
        />
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for all controls inside */}
      <div
        ref={form}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void start();
        }}
      >
        <TabPanel value={view}>
          {bare ? (
            <p className="flex flex-wrap items-center gap-x-3 text-sm text-ink2">
              {noParameters}
              <Button small look="quiet" onClick={() => setBare(false)}>
                Edit arguments as JSON
              </Button>
            </p>
          ) : view === 'form' && !fault ? (
            <ObjectForm field={schema} text={args} wanted={wanted} onChange={setArgs} />
          ) : (
            <>
              <p className="mb-1 text-xs text-ink3" aria-hidden>
                {words.arguments}
              </p>
              <CodeEditor
                label={words.arguments}
                value={args}
                language="json"
                marks={place ? [{ ...place, severity: 'error', message: fault ?? '' }] : []}
                describedBy={`${id}-fault`}
                onChange={(text) => {
                  setView('json');
                  setArgs(text);
                }}
                className="max-h-80 min-h-24"
              />
              <EditorMessages
                id={`${id}-fault`}
                value={args}
                className="mt-1 min-h-5 text-xs text-bad"
              >
                {fault}
                {fault && view === 'form' && ` ${'The form is available when the JSON is valid.'}`}
              </EditorMessages>
            </>
          )}
        </TabPanel>
      </div>
      {unfilled && (
        <p role="alert" className="text-sm text-bad">
          Parts of these arguments were not recorded, such as secrets: replace “[redacted]” first.
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="primary"
          disabled={fault !== undefined || unfilled || run.phase === 'running'}
          onClick={() => void start()}
        >
          {run.phase === 'running' ? (
            <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
          ) : (
            <Play className="size-3.5" aria-hidden />
          )}
          {run.phase === 'running' ? 'Running…' : 'Run tool'}
        </Button>
        {run.phase === 'running' && (
          <>
            <Button onClick={() => abort.current?.abort()}>Cancel</Button>
            <Elapsed since={run.since} />
          </>
        )}
        {view === 'json' && !bare && (
          <Button
            look="quiet"
            disabled={fault !== undefined}
            onClick={() => setArgs(formatJson(args))}
          >
            Format
          </Button>
        )}
        {!bare && (
          <Button look="quiet" onClick={reset}>
            Reset
          </Button>
        )}
      </div>
      <div aria-live="polite">
        {run.phase === 'failed' && (
          <p className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]">
            {escapeControlCharacters(run.message)}
          </p>
        )}
        {run.phase === 'answered' && <Answer answer={run.answer} />}
      </div>
    </Tabs>
  );
}

/** Whether a tool has no parameters. */
function takesNothing(schema: string): boolean {
  const members = jsonMembers(schema);
  const usual = ['type', 'properties', 'required', 'additionalProperties', '$schema', 'title'];
  return (
    members !== undefined &&
    [...members.keys()].every((name) => usual.includes(name)) &&
    jsonMembers(members.get('properties') ?? '{}')?.size === 0
  );
}

/** The elapsed time of a running call. */
function Elapsed({ since }: { since: number }) {
  const seconds = Math.max(0, Math.floor((useNow() - since) / 1000));
  return (
    <span className="text-sm text-ink3 tabular-nums">{duration(Math.max(1, seconds) * 1e9)}</span>
  );
}

function Answer({ answer }: { answer: ToolAnswer }) {
  const readable = useMemo(() => answer.raw !== '' && ResultText.canShow(answer.raw), [answer.raw]);
  return (
    <div className="space-y-2">
      <p className="flex flex-wrap items-center gap-2 text-sm font-medium">
        {answer.success ? (
          <span className="flex items-center gap-1.5 text-ok">
            <CircleCheck className="size-4" aria-hidden />
            Succeeded
          </span>
        ) : (
          <span className="flex items-center gap-1.5 text-bad">
            <CircleAlert className="size-4" aria-hidden />
            Failed
          </span>
        )}
        {answer.callId && (
          <Link
            to="/calls/$id"
            params={{ id: answer.callId }}
            className="font-normal text-accent underline-offset-2 hover:underline"
          >
            Open call
          </Link>
        )}
      </p>
      {answer.error && !readable && (
        <p className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]">
          {escapeControlCharacters(answer.error.slice(0, 4000))}
        </p>
      )}
      {readable ? (
        <ResultText text={answer.raw} />
      ) : (
        (answer.raw || answer.output) && (
          <JsonView text={answer.raw || JSON.stringify(answer.output)} label={texts.calls.result} />
        )
      )}
    </div>
  );
}
