import { useQueryClient } from '@tanstack/react-query';
import { LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { TextField } from '@/components/text-field';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { useUnsaved } from '@/lib/unsaved-changes';
import { useConfigValue } from '@/lib/use-config-edit';
import type { HistoryState, RetentionPreview } from '@/types/api';
import { type Bounds, useHistoryMaintenance, useRetentionPreview } from './api';
import { notHere } from './general-panel';
import { numberOf, RetentionLoss, Span } from './retention-confirmation';

/** Whether a limit is lower than another; 0 is unlimited. */
const narrower = (now: number, old: number) => now > 0 && (old === 0 || now < old);

const wholeFault = (typed: string, most: number) =>
  /^\d+$/.test(typed) && Number(typed) <= most
    ? undefined
    : `Enter a whole number from 0 to ${most}.`;

/** The limits for age and size of the history. Confirms what is deleted before a limit is lowered. */
export function Retention({ state }: { state: HistoryState }) {
  const [days, setDays] = useState<string | undefined>(undefined);
  const [size, setSize] = useState<string | undefined>(undefined);
  const [asking, setAsking] = useState<RetentionPreview | undefined>(undefined);
  const client = useQueryClient();
  const save = useConfigValue({
    refused: notHere,
    onSettled: () => client.invalidateQueries({ queryKey: ['history'] }),
  });
  const preview = useRetentionPreview();
  const oldSize = String(Math.round(state.maxBytes / 1e6));
  const keep = days ?? String(state.keepDays);
  const most = size ?? oldSize;
  const [keepFault, mostFault] = [wholeFault(keep, 36_500), wholeFault(most, 9_999_999)];
  const sound = !keepFault && !mostFault;
  const wanted: Bounds = {
    keepDays: Number(keep),
    maxBytes: most === oldSize ? state.maxBytes : Number(most) * 1_000_000,
  };
  const changed = wanted.keepDays !== state.keepDays || wanted.maxBytes !== state.maxBytes;
  useUnsaved(changed);
  const write = async () => {
    try {
      for (const key of ['keepDays', 'maxBytes'] as const)
        if (wanted[key] !== state[key])
          await save.mutateAsync({ path: ['history', key], to: wanted[key] });
      setDays(undefined);
      setSize(undefined);
      toast('ok', texts.settings.saved);
    } catch (error) {
      toastError(error);
    } finally {
      setAsking(undefined);
    }
  };
  const start = () => {
    if (!narrower(wanted.keepDays, state.keepDays) && !narrower(wanted.maxBytes, state.maxBytes))
      return void write();
    preview.mutate(wanted, {
      onSuccess: (found) => (found.calls > 0 ? setAsking(found) : void write()),
      onError: toastError,
    });
  };
  return (
    <form
      className="flex flex-wrap items-start gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (sound && changed && !preview.isPending && !save.isPending) start();
      }}
    >
      <TextField
        label="Retention (days)"
        inputMode="numeric"
        value={keep}
        onChange={setDays}
        fault={keepFault}
        inputClassName="max-w-24"
      />
      <TextField
        label="Maximum size (MB)"
        inputMode="numeric"
        value={most}
        onChange={setSize}
        fault={mostFault}
        inputClassName="max-w-28"
      />
      <Button
        type="submit"
        look="primary"
        className="mt-6"
        disabled={!sound || !changed || save.isPending || preview.isPending}
      >
        {preview.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
        {texts.settings.save}
      </Button>
      <span className="w-full text-xs text-ink3">0 means no limit.</span>
      {asking && (
        <Confirm
          title="Delete older calls?"
          action="Save and delete"
          pending={save.isPending}
          onConfirm={() => void write()}
          onClose={() => setAsking(undefined)}
        >
          <RetentionLoss found={asking} />
        </Confirm>
      )}
    </form>
  );
}

/** Applies the limits immediately, after showing how many calls that deletes. */
export function Prune({ state }: { state: HistoryState }) {
  const [asking, setAsking] = useState<RetentionPreview | undefined>(undefined);
  const preview = useRetentionPreview();
  const upkeep = useHistoryMaintenance();
  const { keepDays, maxBytes } = state;
  return (
    <>
      <Button
        look="danger"
        disabled={preview.isPending || upkeep.isPending}
        onClick={() =>
          preview.mutate(
            { keepDays, maxBytes },
            {
              onSuccess: (found) =>
                found.calls > 0 ? setAsking(found) : toast('ok', 'No calls have expired.'),
              onError: toastError,
            },
          )
        }
      >
        {preview.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
        Delete expired calls now
      </Button>
      {asking && (
        <Confirm
          title="Delete expired calls?"
          action={texts.actions.delete}
          pending={upkeep.isPending}
          onClose={() => setAsking(undefined)}
          onConfirm={() =>
            upkeep.mutate('prune', {
              onSuccess: ({ deleted }) => toast('ok', texts.calls.deleted(deleted ?? 0)),
              onError: toastError,
              onSettled: () => setAsking(undefined),
            })
          }
        >
          <p>
            {asking.calls === 1 && !asking.estimated
              ? '1 call will be permanently deleted. To keep it, back up the history first.'
              : `${numberOf(asking)} calls will be permanently deleted. To keep them, back up the history first.`}
          </p>
          <Span of={asking} />
        </Confirm>
      )}
    </>
  );
}
