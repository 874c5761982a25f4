import { useQuery } from '@tanstack/react-query';
import { Button } from '@/components/button';
import { configQuery } from '@/lib/config-file';
import { readJsonc, valueAt } from '@/lib/jsonc';
import { statusQuery } from '@/lib/status-query';
import { toast, toastError } from '@/lib/toast';
import { useConfigValue } from '@/lib/use-config-edit';

const path = ['updates', 'check'];

/** Asks whether to check for new versions, until updates.check is set in the configuration. */
export function UpdateQuestion() {
  const { data: status } = useQuery(statusQuery);
  const { data: config } = useQuery(configQuery);
  const answer = useConfigValue({
    refused: 'The configuration file cannot be read. Fix it under Settings, then answer again.',
    onSuccess: (_, { to }) =>
      toast(
        'ok',
        to === true
          ? 'New versions will be announced here.'
          : 'New versions will not be announced.',
      ),
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
        Check for new versions of Drawbridge?
      </h2>
      <p className="mt-1 max-w-prose text-pretty text-ink2">
        Once a day, Drawbridge reads a small signed file that names the newest version. No update is
        downloaded, and nothing about you or this computer is sent.
      </p>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ path, to: true })}>
          Check daily
        </Button>
        <Button disabled={answer.isPending} onClick={() => answer.mutate({ path, to: false })}>
          Do not check
        </Button>
      </div>
    </section>
  );
}
