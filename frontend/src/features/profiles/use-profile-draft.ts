import { useEffect, useRef, useState } from 'react';
import { escapeControlCharacters } from '@/lib/format';
import { RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, useLocalToast } from '@/lib/toast';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { Profile } from '@/types/api';
import { useSaveProfile } from './api';
import { type Entry, readEntry, textOf } from './profile-entry';

const nothing: Entry = { servers: {} };

/** The entry to send, without empty or default values. */
function tidy(draft: Entry, was: Entry): Entry {
  const entry = { ...draft };
  if (!was.accounts && Object.keys(entry.accounts ?? {}).length === 0) delete entry.accounts;
  if (!entry.description) delete entry.description;
  entry.folders = entry.folders?.map((f) => f.trim()).filter(Boolean);
  if (!entry.folders?.length) delete entry.folders;
  if (entry.toolMode === 'all') delete entry.toolMode;
  return entry;
}

/** The error in the name of a new profile. */
function faultOfName(name: string, taken: string[]): string | undefined {
  if (name === '') return undefined;
  if (!/^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$/.test(name)) return texts.add.name;
  if (name.length > 32) return texts.add.nameLength;
  return taken.includes(name) ? 'A profile with this name already exists.' : undefined;
}

/**
 * The state of editing a profile: the draft, the profile that it is based on, and whether the file
 * changed since. Changes by others are never overwritten, and the draft is discarded only by a
 * click, which can be undone.
 */
export function useProfileDraft({
  profile,
  initial = nothing,
  suggested,
  gone,
  taken,
  onLoad,
}: {
  /** The profile in the file; undefined for a new one. */
  profile: Profile | undefined;
  /** The draft of a new profile. */
  initial?: Entry | undefined;
  /** Its name at first, if it is valid and not taken. */
  suggested: string;
  gone: boolean;
  taken: string[];
  onLoad: () => void;
}) {
  const [base, setBase] = useState(profile);
  const [draft, setDraft] = useState<Entry>(() => readEntry(profile?.entry ?? initial));
  const latest = useRef(draft);
  useEffect(() => {
    latest.current = draft;
  }, [draft]);
  const free = [suggested, `${suggested}-2`, `${suggested}-3`].find(
    (one) => !faultOfName(one, taken),
  );
  const [name, setName] = useState(suggested && (free ?? ''));
  const save = useSaveProfile();
  const say = useLocalToast();
  const dirty = textOf(draft) !== textOf(readEntry(base?.entry ?? initial));
  useUnsaved(!gone && (dirty || (name !== '' && name !== free)));
  const load = (from: Profile | undefined) => {
    setBase(from);
    setDraft(readEntry(from?.entry ?? nothing));
    onLoad();
    save.reset();
  };
  const changed = profile !== undefined && profile.etag !== base?.etag;
  // There is no draft to lose; during a save, there is one that equals the old profile.
  if (changed && !dirty && !save.isPending) load(profile);
  const errors = save.error instanceof RequestError ? save.error.fields : [];
  const nameFault = profile ? undefined : faultOfName(name, taken);
  return {
    draft,
    setDraft,
    name,
    setName,
    nameFault,
    save,
    dirty,
    changed,
    ready: profile ? dirty && !changed && !gone : name !== '' && nameFault === undefined,
    faultOf: (field: string) =>
      errors.find(
        (e) =>
          e.field === field || e.field.startsWith(`${field}.`) || e.field.startsWith(`${field}[`),
      )?.error,
    /** Replaces the draft with the current profile. */
    drop: (to: Profile) => {
      const typed = draft;
      load(to);
      say('ok', texts.care.typedGone, { text: texts.care.undo, run: () => setDraft(typed) });
    },
    submit: (onSaved: (name: string) => void) => {
      const to = profile?.name ?? name;
      const before = base;
      save.mutate(
        { name: to, entry: tidy(draft, readEntry(base?.entry)), was: base?.etag ?? 'new' },
        {
          onSuccess: (saved) => {
            toast(
              'ok',
              `Profile ${escapeControlCharacters(to)} saved.`,
              before && {
                text: texts.care.undo,
                run: () =>
                  save.mutate({ name: to, entry: readEntry(before.entry), was: saved.etag }),
              },
            );
            load(saved);
            // Changes that were made during the save become a draft based on the saved profile.
            if (latest.current !== draft) setDraft(latest.current);
            onSaved(to);
          },
        },
      );
    },
  };
}
