import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { ConfigPartEditor } from '@/components/config-part-editor';
import { CopyButton } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { CodeView } from '@/components/lazy-code-editor';
import { Loading } from '@/components/page';
import { SegmentedControl } from '@/components/segmented-control';
import { edited, textEdit, typedText, withEdit, within } from '@/lib/config-edits';
import { configQuery, editedConfigQuery, unusable } from '@/lib/config-file';
import { isKept, readDraft, useDraft } from '@/lib/drafts';
import { escapeControlCharacters } from '@/lib/format';
import { readJsonc } from '@/lib/jsonc';
import { maskSecrets } from '@/lib/mask-secrets';
import { isRecord } from '@/lib/own-property';
import { RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { useLocalToast } from '@/lib/toast';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { Edit, ServerStatus } from '@/types/api';
import { ConfigForm } from './config-form';
import {
  definedElsewhere,
  entryOf,
  entryPath,
  inEntry,
  useSaveEdits,
} from './review-and-add-server';

const schemaPath = ['mcpServers', 'SERVER'];

/** Unsaved edits of an entry, and the text that they are based on. */
export interface EntryEdit {
  base: string;
  edits: Edit[];
  /** The result, so that a draft with a secret is recognized. */
  shown: string;
}

export const entryEdit = (base: string, edits: Edit[]): EntryEdit => ({
  base,
  edits,
  shown: typedText(edits) ?? JSON.stringify(edited(readJsonc(base).value, edits)),
});

/** The change is kept as a draft while another view of the server or another page is shown. */
export function useEntryEdit(server: string) {
  const place = `server edits ${server}`;
  const [edit, setEdit] = useState(() => readDraft<EntryEdit>(place));
  const changed = isChanged(edit);
  const restored = useDraft(place, changed ? edit : undefined);
  // A draft that contains a secret is not stored: leaving it requires a confirmation instead.
  useUnsaved(changed && !isKept(edit));
  return { edit, setEdit, restored };
}

const isChanged = (edit: EntryEdit | undefined) =>
  edit !== undefined &&
  edit.shown !== edit.base &&
  edit.shown !== JSON.stringify(readJsonc(edit.base).value);

/** Edits the entry of a server in the configuration file, as a form or as text. */
export function ServerEntryEditor({
  server,
  state: { edit: draft, setEdit, restored },
}: {
  server: ServerStatus;
  state: ReturnType<typeof useEntryEdit>;
}) {
  const label = server.label || server.id;
  const { data: config } = useQuery(configQuery);
  const [asText, setAsText] = useState(false);
  const [shown, setShown] = useState(false);
  const say = useLocalToast();
  const save = useSaveEdits(`Configuration of ${escapeControlCharacters(label)} saved.`);
  const inFile = config && entryOf(config.text, label);
  const base = draft?.base ?? inFile;
  const edits = draft?.edits ?? [];
  const changed = isChanged(draft);
  const typed = edits.length > 0 ? typedText(edits) : base;
  const path = config && entryPath(config.text, label);
  const preview = useQuery(
    editedConfigQuery(
      config?.etag ?? '',
      path && typed === undefined ? within(path, [textEdit([], base ?? ''), ...edits]) : [],
    ),
  );
  if (!config) return <Loading />;
  if (base === undefined)
    return (
      <div className="space-y-2 px-4 py-4 text-sm text-ink2 md:px-5">
        <p>{unusable(config) ?? definedElsewhere}</p>
        <Link to="/configuration" className="text-accent underline underline-offset-2">
          {texts.configCopies.title}
        </Link>
      </div>
    );
  const entry = typed ?? (preview.data && entryOf(preview.data.text, label));
  const fault = typed === undefined ? undefined : readJsonc(typed).fault;
  const value = edited(readJsonc(base).value, edits);
  const sound = fault === undefined && isRecord(value);
  const masked = entry === undefined ? undefined : maskSecrets(entry);
  const change = (next: (edits: Edit[]) => Edit[]) => {
    setEdit((now) => entryEdit(now?.base ?? base, next(now?.edits ?? [])));
    if (save.isError) save.reset();
  };
  const discard = () => {
    setEdit(undefined);
    save.reset();
    say('ok', texts.care.typedGone, { text: texts.care.undo, run: () => setEdit(draft) });
  };
  const store = () => {
    if (!draft || !sound) return;
    save.mutate(
      inEntry(label, (now) => {
        if (now !== base)
          throw new RequestError(
            'The entry was changed elsewhere. Discard your changes to load the new version.',
            412,
            'conflict',
          );
        return edits;
      }),
      { onSuccess: () => setEdit(undefined) },
    );
  };
  return (
    <div className="flex min-h-full flex-col">
      <div className="flex-1 space-y-4 px-4 py-4 md:px-5">
        <div className="flex flex-wrap items-center gap-2">
          <SegmentedControl
            label="Show as"
            value={asText ? 'text' : 'form'}
            options={[
              { value: 'form', text: 'Form' },
              { value: 'text', text: 'Text' },
            ]}
            onChange={(next) => setAsText(next === 'text')}
          />
          <span className="ml-auto">
            <CopyButton label="Copy entry" text={entry ?? JSON.stringify(value, null, 2)} />
          </span>
        </div>
        {!asText &&
          (sound ? (
            <ConfigForm
              server={server.id}
              label={label}
              saved={readJsonc(inFile ?? '').value}
              faults={save.error instanceof RequestError ? save.error.fields : []}
              value={value}
              onEdit={(one) => change((all) => withEdit(all, one))}
              onTakeBack={(one, otherwise) =>
                change((all) =>
                  all.includes(one) ? all.filter((other) => other !== one) : [...all, otherwise],
                )
              }
            />
          ) : (
            <p className="text-sm text-bad">The text is not valid JSON. Fix it first.</p>
          ))}
        {asText && entry === undefined && <Failure error={preview.error} />}
        {asText && masked !== undefined && masked !== entry && !shown && !changed ? (
          <div className="space-y-2">
            <CodeView
              label={texts.servers.config.entry}
              text={escapeControlCharacters(masked)}
              language="jsonc"
            />
            <Button onClick={() => setShown(true)}>Reveal secrets and edit</Button>
          </div>
        ) : (
          asText &&
          entry !== undefined && (
            <ConfigPartEditor
              base={schemaPath}
              label={texts.servers.config.entry}
              value={entry}
              language="jsonc"
              onChange={(text) => change(() => [textEdit([], text)])}
              onSave={store}
              className="max-h-[32rem] min-h-40"
            />
          )
        )}
      </div>
      {changed && (
        <div className="sticky bottom-0 z-10 space-y-2 border-t bg-panel px-4 py-3 md:px-5">
          <Failure error={save.error} />
          {fault && !asText && (
            <p className="text-sm text-bad">{texts.editor.syntax(fault.line, fault.column)}</p>
          )}
          <div className="flex flex-wrap items-center gap-2">
            <Button look="primary" disabled={!sound || save.isPending} onClick={store}>
              {save.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
              {texts.settings.save}
            </Button>
            <Button onClick={discard}>Discard changes</Button>
            <span className="text-xs text-ink3">
              {restored ? 'Restored your draft' : 'Saving restarts the server if necessary.'}
            </span>
          </div>
        </div>
      )}
    </div>
  );
}
