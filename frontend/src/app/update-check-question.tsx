import { useQuery } from '@tanstack/react-query';
import { Button } from '@/components/button';
import { configQuery } from '@/lib/config-file';
import { readJsonc, valueAt } from '@/lib/jsonc';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { useConfigValue } from '@/lib/use-config-edit';

const t = texts.welcome;
const path = ['updates', 'check'];

/** Asks whether to check for new versions, until updates.check is set in the configuration. */
export function UpdateQuestion() {
  const { data: status } = useQuery(statusQuery);
  const { data: config } = useQuery(configQuery);
  const answer = useConfigValue({
    refused: t.updatesUnreadable,
    onSuccess: (_, { to }) => toast('ok', t.updatesSaved(to === true)),
    onError: toastError,
  });
  const given = config && valueAt(readJsonc(config.text).value, path) !== undefined;
  if (!status?.knowsReleases || given !== false) return null;
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
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ path, to: true })}>
          {t.updatesOn}
        </Button>
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ path, to: false })}>
          {t.updatesOff}
        </Button>
      </div>
    </section>
  );
}
