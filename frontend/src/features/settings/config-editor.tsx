import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { LoaderCircle } from 'lucide-react';
import { useId, useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { Line, syntaxMark, Violations, violationMark } from '@/components/config-part-editor';
import { Confirm } from '@/components/confirm';
import { DraftRestored } from '@/components/draft-restored';
import { EditorMessages } from '@/components/editor-messages';
import { Failure } from '@/components/failure';
import { CodeEditor, type Mark, MergeDiff } from '@/components/lazy-code-editor';
import { Loading } from '@/components/page';
import { classes } from '@/lib/class-names';
import { completionsAt, schemaViolations } from '@/lib/config-completion-and-validation';
import {
  configQuery,
  configSchemaQuery,
  restoreConfig,
  saveConfig,
  savedText,
} from '@/lib/config-file';
import { readDraft, useDraft } from '@/lib/drafts';
import { escapeControlCharacters } from '@/lib/format';
import { readJsonc } from '@/lib/jsonc';
import { isConflict, messageOf, RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, useLocalToast } from '@/lib/toast';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { ConfigFile, Problem } from '@/types/api';
import { useRetentionConfirmation } from './retention-confirmation';

export const noProblems = 'The configuration has no problems.';

const words = {
  overTitle: 'Overwrite changes made elsewhere?',
  revert: 'Discard changes',
};

/** Loads the file into the editor; the daemon validates it when it is saved. */
export function ConfigEditor({ problems }: { problems: Problem[] }) {
  const config = useQuery(configQuery);
  if (config.isPending) return <Loading />;
  if (config.isError) return <Failure error={config.error} />;
  return <Editor file={config.data} problems={problems} />;
}

function Editor({ file, problems }: { file: ConfigFile; problems: Problem[] }) {
  // The version that the edit is based on: later changes of the file must not be overwritten.
  const place = `file ${file.path}`;
  const [kept] = useState(() => readDraft<{ base: ConfigFile; text: string }>(place));
  const [base, setBase] = useState(kept?.base ?? file);
  const [text, setText] = useState(kept?.text ?? file.text);
  const [asking, setAsking] = useState(false);
  const say = useLocalToast();
  const client = useQueryClient();
  const id = useId();
  const edited = text !== base.text;
  useUnsaved(edited);
  const restored = useDraft(place, edited ? { base, text } : undefined, 'forget');
  const elsewhere = file.etag !== base.etag;
  if (elsewhere && !edited) {
    setBase(file);
    setText(file.text);
  }
  const save = useMutation({
    mutationFn: ({ etag }: { etag: string; over?: ConfigFile }) => saveConfig(text, etag),
    onSuccess: (saved, { over }) => {
      setBase(saved);
      setText(saved.text);
      client.setQueryData(configQuery.queryKey, saved);
      if (!over) toast('ok', savedText(base.text, saved.text));
      else
        toast('ok', 'Saved; the other changes were overwritten.', {
          text: texts.care.undo,
          run: () => restoreConfig(client, over.text, saved.etag),
        });
    },
    onError: (error) => {
      if (isConflict(error)) client.invalidateQueries({ queryKey: configQuery.queryKey });
    },
    onSettled: () => setAsking(false),
  });
  const less = useRetentionConfirmation();
  const busy = save.isPending || less.counting;
  const dropTyped = (next: ConfigFile) => {
    const typed = text;
    const from = base;
    setBase(next);
    setText(next.text);
    save.reset();
    say('ok', texts.care.typedGone, {
      text: texts.care.undo,
      run: () => {
        setBase(from);
        setText(typed);
      },
    });
  };
  const conflict = edited && elsewhere;
  const yaml = /\.ya?ml$/.test(file.path);
  const fault = yaml || text.trim() === '' ? undefined : readJsonc(text).fault;
  const start = () => {
    if (edited && !conflict && !busy && !fault)
      less.ask({ text }, () => save.mutate({ etag: base.etag }));
  };
  const schema = useQuery(configSchemaQuery).data;
  const wrong = useMemo(
    () =>
      schema && (edited || problems.length === 0) && !yaml && !fault
        ? schemaViolations(schema, text)
        : [],
    [schema, edited, problems.length, yaml, fault, text],
  );
  const marks: Mark[] = [
    ...(edited ? faultsOf(save.error) : problemMarks(problems, file.path)),
    ...wrong.map(violationMark),
  ];
  if (fault) marks.push(syntaxMark(fault));
  return (
    <div className="space-y-2">
      {restored && <DraftRestored onDiscard={() => dropTyped(file)} />}
      <CodeEditor
        label="Configuration file"
        value={text}
        onChange={(typed) => {
          setText(typed);
          if (save.isError) save.reset();
        }}
        onSave={start}
        marks={marks}
        language={yaml ? 'yaml' : 'jsonc'}
        className="h-[32rem] max-h-[70vh]"
        complete={schema && !yaml ? (typed, at) => completionsAt(schema, typed, at) : undefined}
        describedBy={`${id}-state`}
      />
      {/* In view while the editor is, also if the editor is taller than the window. */}
      <div
        className={classes(
          '-mx-1 -mb-2 space-y-2 bg-panel px-1 py-2',
          wrong.length <= 3 && '-bottom-8 z-10 [@media(min-height:30rem)]:sticky',
        )}
      >
        <EditorMessages id={`${id}-state`} value={text} className="min-h-5 text-sm">
          {conflict ? (
            <div className="flex flex-wrap items-center gap-2 text-warn">
              The file was changed elsewhere.
              <Button small onClick={() => dropTyped(file)}>
                {words.revert}
              </Button>
              <Button
                small
                look="danger"
                disabled={fault !== undefined || busy}
                onClick={() => setAsking(true)}
              >
                Overwrite…
              </Button>
            </div>
          ) : fault ? (
            <Line look="bad">{texts.editor.syntax(fault.line, fault.column)}</Line>
          ) : save.isError ? (
            <Line look="bad">{escapeControlCharacters(messageOf(save.error))}</Line>
          ) : wrong.length > 0 ? (
            <Violations list={wrong} />
          ) : (
            !yaml &&
            (edited ? (
              <Line look="ok">No syntax errors.</Line>
            ) : (
              problems.length === 0 && schema && <Line look="ok">{noProblems}</Line>
            ))
          )}
        </EditorMessages>
        <div className="flex gap-2">
          <Button
            look="primary"
            disabled={!edited || conflict || busy || fault !== undefined}
            onClick={start}
          >
            {busy && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {save.isPending ? 'Saving…' : texts.settings.save}
          </Button>
          {!conflict && (
            <Button look="quiet" disabled={!edited} onClick={() => dropTyped(base)}>
              {words.revert}
            </Button>
          )}
          {schema && !yaml && (
            <span className="ml-auto hidden self-center text-xs text-ink3 sm:inline">
              Press Ctrl+Space for suggestions.
            </span>
          )}
        </div>
      </div>
      {asking && conflict && (
        <Confirm
          title={words.overTitle}
          action="Overwrite"
          pending={busy}
          onConfirm={() =>
            less.ask({ text }, () => {
              setAsking(false);
              save.mutate({ etag: file.etag, over: file });
            })
          }
          onClose={() => setAsking(false)}
        >
          <Over theirs={file.text} mine={text} />
        </Confirm>
      )}
      {less.dialog}
    </div>
  );
}

/** The changes by others that would be overwritten, and what replaces them. */
function Over({ theirs, mine }: { theirs: string; mine: string }) {
  if (theirs === mine)
    return <p>Both versions have the same lines; only the order or whitespace differs.</p>;
  return (
    <div className="space-y-2">
      <p>
        The file changed while you were editing it. Lines marked − will be removed; lines marked +
        are yours.
      </p>
      <MergeDiff before={theirs} after={mine} label={words.overTitle} />
    </div>
  );
}

/** The problems of a file that have a position in it. */
export function problemMarks(problems: Problem[], path: string): Mark[] {
  return problems
    .filter((one) => one.line > 0 && (one.file === '' || one.file === path))
    .map(({ line, column, warning, message }) => ({
      line,
      ...(column > 0 && { column }),
      severity: warning ? 'warning' : 'error',
      message,
    }));
}

/** The positions in the message of a rejection: "file:12:5: message", or "line 12". */
export function faultsOf(error: unknown): Mark[] {
  if (!(error instanceof RequestError)) return [];
  return [...error.message.matchAll(/:(\d+):(\d+)|line (\d+)/g)].map(([, line, column, only]) => ({
    line: Number(line ?? only),
    ...(column && { column: Number(column) }),
    severity: 'error',
    message: error.message,
  }));
}
