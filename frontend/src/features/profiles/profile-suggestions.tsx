import { useQuery } from '@tanstack/react-query';
import { Layers, Undo2, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { count, escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toastError } from '@/lib/toast';
import type { Profile, ProfileSuggestion } from '@/types/api';
import { suggestionsQuery, useDeleteProfile, useDismiss, useSaveProfile } from './api';
import { readEntry } from './profile-entry';

const t = texts.profiles.suggestions;
const row =
  'flex flex-wrap items-center gap-x-3 gap-y-2 border-t px-4 py-2.5 text-sm first:border-t-0';

type Done = { suggestion: ProfileSuggestion; made?: Profile };

/** Suggested profiles for folders. One click creates or dismisses a profile, another one undoes that. */
export function Suggestions() {
  const { data } = useQuery(suggestionsQuery);
  const [done, setDone] = useState<Done[]>([]);
  const save = useSaveProfile();
  const remove = useDeleteProfile();
  const dismiss = useDismiss();
  const busy = save.isPending || remove.isPending || dismiss.isPending;
  const handled = new Set(done.map((one) => one.suggestion.folder));
  const open = (data?.items ?? []).filter((one) => !handled.has(one.folder)).slice(0, 3);
  if (done.length + open.length === 0) return null;
  const undone = ({ suggestion }: Done) =>
    setDone((all) => all.filter((one) => one.suggestion.folder !== suggestion.folder));
  return (
    <section aria-labelledby="suggestions-title" className="mt-6 max-w-page">
      <h2 id="suggestions-title" className="font-semibold">
        Suggested profiles
      </h2>
      <p className="mt-0.5 mb-2 text-sm text-ink2">
        Based on the tools that clients called while working in a folder.
      </p>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {done.map((one) => (
          <li key={one.suggestion.folder} className={row} role="status">
            <span className="min-w-0 flex-1 basis-60 break-words text-ink2">
              {one.made
                ? `Clients that work in ${escapeControlCharacters(one.suggestion.folder.slice(0, 300))} now use the profile ${escapeControlCharacters(one.made.name)}.`
                : `Suggestion for ${escapeControlCharacters(one.suggestion.folder.slice(0, 300))} dismissed.`}
            </span>
            <Button
              small
              disabled={busy}
              onClick={() =>
                one.made
                  ? remove.mutate(one.made, { onSuccess: () => undone(one), onError: toastError })
                  : dismiss.mutate(
                      { folder: one.suggestion.folder, dismissed: false },
                      { onSuccess: () => undone(one), onError: toastError },
                    )
              }
            >
              <Undo2 className="size-3.5" aria-hidden />
              {texts.profiles.undo}
            </Button>
          </li>
        ))}
        {open.map((one) => (
          <li key={one.folder} className={row}>
            <span className="min-w-0 flex-1 basis-60">
              <span className="block font-medium [overflow-wrap:anywhere]">
                {escapeControlCharacters(one.folder.slice(0, 300))}
              </span>
              <span className="text-ink2">
                {t.use(one.tools.length, one.allTools, data?.days ?? 0)}{' '}
                {`A profile with only these tools would save ~${count(one.saved)} tokens per session.`}
              </span>
            </span>
            <Button
              small
              disabled={busy}
              onClick={() =>
                save.mutate(
                  { name: one.name, entry: readEntry(one.entry), was: 'new' },
                  {
                    onSuccess: (made) => setDone((all) => [...all, { suggestion: one, made }]),
                    onError: toastError,
                  },
                )
              }
            >
              <Layers className="size-3.5" aria-hidden />
              Create profile
            </Button>
            <Button
              small
              look="quiet"
              disabled={busy}
              aria-label={t.dismiss(escapeControlCharacters(one.folder.slice(0, 100)))}
              title={t.dismiss(escapeControlCharacters(one.folder.slice(0, 100)))}
              onClick={() =>
                dismiss.mutate(
                  { folder: one.folder, dismissed: true },
                  {
                    onSuccess: () => setDone((all) => [...all, { suggestion: one }]),
                    onError: toastError,
                  },
                )
              }
            >
              <X className="size-3.5" aria-hidden />
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
