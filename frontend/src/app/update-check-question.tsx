import { useQuery } from '@tanstack/react-query';
import { Button } from '@/components/button';
import { configQuery, useConfigEdit } from '@/lib/config-file';
import { setValue, sourceAt } from '@/lib/jsonc';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';

const t = texts.welcome;

/** Asks whether to check for new versions, until updates.check is set in the configuration. */
export function UpdateQuestion() {
  const { data: status } = useQuery(statusQuery);
  const { data: config } = useQuery(configQuery);
  const answer = useConfigEdit({
    edit: (text, check: boolean) =>
      setValue(text.trim() || '{}', ['updates', 'check'], String(check)),
    refused: t.updatesUnreadable,
    onSuccess: (_, check) => toast('ok', t.updatesSaved(check)),
    onError: toastError,
  });
  if (!status?.knowsReleases || !config || sourceAt(config.text, ['updates', 'check'])) return null;
  return (
    <section
      aria-labelledby="updates-title"
      className="mt-4 max-w-3xl rounded-lg border bg-panel p-4 text-sm shadow-card"
    >
      <h2 id="updates-title" className="font-semibold">
        {t.updates}
      </h2>
      <p className="mt-1 max-w-prose text-pretty text-ink2">{t.updatesBody}</p>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button disabled={answer.isPending} onClick={() => answer.mutate(true)}>
          {t.updatesOn}
        </Button>
        <Button disabled={answer.isPending} onClick={() => answer.mutate(false)}>
          {t.updatesOff}
        </Button>
      </div>
    </section>
  );
}
