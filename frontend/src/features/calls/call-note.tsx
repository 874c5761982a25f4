import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { NotebookPen, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { DraftRestored } from '@/components/draft-restored';
import { Failure } from '@/components/failure';
import { Section } from '@/components/fields';
import { Field, inputClasses, TextField } from '@/components/text-field';
import { readDraft, useDraft } from '@/lib/drafts';
import { escapeControlCharacters } from '@/lib/format';
import { isConflict } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { CallDetail, Note } from '@/types/api';
import { useNote, writeNote } from './api';

const words = {
  none: 'No note yet.',
  tag: 'Tag',
};

/** The user's note on a call, and its tags. */
export function CallNote({ call }: { call: CallDetail }) {
  const [editing, setEditing] = useState(() => readDraft(`note ${call.id}`) !== undefined);
  const note = call.note;
  return (
    <Section
      title="Note"
      aside={
        !editing && (
          <Button small look="quiet" onClick={() => setEditing(true)}>
            <NotebookPen className="size-3.5" aria-hidden />
            {note ? 'Edit' : 'Add a note'}
          </Button>
        )
      }
    >
      {editing ? (
        <NoteForm call={call} onDone={() => setEditing(false)} />
      ) : note ? (
        <Written note={note} />
      ) : (
        <p className="text-sm text-ink3">{words.none}</p>
      )}
    </Section>
  );
}

function Written({ note }: { note: Note }) {
  return (
    <div className="space-y-1.5 text-sm">
      {note.title && (
        <p className="font-medium [overflow-wrap:anywhere]">
          {escapeControlCharacters(note.title)}
        </p>
      )}
      {note.note && (
        <p className="max-w-prose whitespace-pre-wrap text-ink2 [overflow-wrap:anywhere]">
          {escapeControlCharacters(note.note)}
        </p>
      )}
      {(note.tags ?? []).length > 0 && (
        <ul className="flex flex-wrap gap-1.5">
          {(note.tags ?? []).map((tag) => (
            <li key={tag} className="min-w-0">
              <Link
                to="/calls"
                search={{ tag }}
                className="block max-w-56 truncate rounded-full bg-sunken px-2 py-0.5 text-xs text-ink2 hover:text-ink"
              >
                {escapeControlCharacters(tag)}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const empty: Note = { title: '', note: '', tags: [] };
const isEmpty = (note: Note) => !note.title && !note.note && (note.tags ?? []).length === 0;
const same = (a: Note, b: Note) =>
  a.title === b.title &&
  a.note === b.note &&
  (a.tags ?? []).join('\n') === (b.tags ?? []).join('\n');

function NoteForm({ call, onDone }: { call: CallDetail; onDone: () => void }) {
  const title = useRef<HTMLInputElement>(null);
  // The form may open outside of the visible area: the focus scrolls it into view.
  useEffect(() => title.current?.focus(), []);
  const now: Note = { ...empty, ...call.note };
  // The note when editing began: concurrent changes of the note must not be overwritten.
  const place = `note ${call.id}`;
  const [kept] = useState(() => readDraft<{ base: Note; note: Note; tag: string }>(place));
  const [base, setBase] = useState(kept?.base ?? now);
  const [note, setNote] = useState(kept?.note ?? now);
  const [tag, setTag] = useState(kept?.tag ?? '');
  const save = useNote(call.id);
  const client = useQueryClient();
  const tags = note.tags ?? [];
  const conflict = !same(now, base);
  const edited = tag.trim() !== '' || !same(note, base);
  useUnsaved(edited);
  const restored = useDraft(place, edited ? { base, note, tag } : undefined, 'forget');
  const addTag = () => {
    const word = tag.trim();
    if (word && !tags.includes(word)) setNote({ ...note, tags: [...tags, word] });
    setTag('');
  };
  const write = (was: Note) => {
    const word = tag.trim();
    const next = { ...note, tags: word && !tags.includes(word) ? [...tags, word] : tags };
    save.mutate(
      { note: next, base: was },
      {
        onSuccess: (saved) => {
          onDone();
          if (isEmpty(was)) return;
          const is: Note = { ...empty, ...saved.note };
          toast('ok', isEmpty(is) ? 'Note deleted.' : 'Note saved.', {
            text: texts.care.undo,
            run: () => writeNote(client, call.id, was, is).catch(toastError),
          });
        },
      },
    );
  };
  return (
    <form
      className="space-y-2"
      onSubmit={(event) => {
        event.preventDefault();
        write(base);
      }}
    >
      <TextField
        label="Title"
        ref={title}
        value={note.title}
        maxLength={500}
        spellCheck
        onChange={(heading) => setNote({ ...note, title: heading })}
      />
      <Field label="Note">
        {(props) => (
          <textarea
            {...props}
            rows={3}
            value={note.note}
            maxLength={5000}
            onChange={(event) => setNote({ ...note, note: event.target.value })}
            className={`${inputClasses} block resize-y py-1.5`}
          />
        )}
      </Field>
      <div className="flex flex-wrap items-center gap-1.5">
        {tags.map((one) => (
          <button
            key={one}
            type="button"
            aria-label={`Remove the tag ${one}`}
            onClick={() => setNote({ ...note, tags: tags.filter((other) => other !== one) })}
            className="flex max-w-56 items-center gap-1 rounded-full bg-sunken px-2 py-0.5 text-xs text-ink2"
          >
            <span className="truncate">{escapeControlCharacters(one)}</span>
            <X className="size-3 shrink-0" aria-hidden />
          </button>
        ))}
        <input
          aria-label={words.tag}
          placeholder={words.tag}
          value={tag}
          maxLength={50}
          onChange={(event) => setTag(event.target.value)}
          onKeyDown={(event) => {
            if ((event.key === 'Enter' && tag.trim()) || event.key === ',') {
              event.preventDefault();
              addTag();
            }
          }}
          className={`${inputClasses} h-7 max-w-28 text-xs`}
        />
      </div>
      {restored && (
        <DraftRestored
          onDiscard={() => {
            setBase(now);
            setNote(now);
            setTag('');
          }}
        />
      )}
      {conflict && (
        <div role="alert" className="space-y-2 rounded-md bg-warn-soft px-3 py-2 text-sm">
          <p className="text-warn">This note was changed elsewhere. It now reads:</p>
          {isEmpty(now) ? <p className="text-ink2">{words.none}</p> : <Written note={now} />}
          <div className="flex flex-wrap gap-2">
            <Button
              small
              onClick={() => {
                setBase(now);
                setNote(now);
                save.reset();
              }}
            >
              Discard my changes
            </Button>
            <Button small look="danger" disabled={save.isPending} onClick={() => write(now)}>
              Overwrite
            </Button>
          </div>
        </div>
      )}
      {save.isError && !isConflict(save.error) && <Failure error={save.error} />}
      <div className="flex gap-2">
        <Button type="submit" small look="primary" disabled={save.isPending || conflict}>
          Save
        </Button>
        <Button small look="quiet" onClick={onDone}>
          {texts.actions.cancel}
        </Button>
      </div>
    </form>
  );
}
