import { useQuery } from '@tanstack/react-query';
import { Copy, LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { HunkDiff } from '@/components/diff-view';
import { Labelled } from '@/components/fields';
import { More } from '@/components/more';
import { ScrollArea } from '@/components/scroll-area';
import { age, bytes, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { ConfigBackup, RetentionPreview } from '@/types/api';
import { useConfigRetentionPreview } from './api';
import {
  copiesQuery,
  copyQuery,
  useCreateConfigCopy,
  useRestoreConfigCopy,
} from './config-copies-api';
import { RetentionLoss } from './retention-confirmation';

const words = {
  hide: 'Hide',
  copyDiff: 'Changes if restored',
  putBack: 'Restore',
};

/** Creates, shows and restores backups of the configuration file. */
export function ConfigCopies() {
  const { data, error } = useQuery(copiesQuery);
  const keep = useCreateConfigCopy();
  const [open, setOpen] = useState<string | undefined>(undefined);
  return (
    <div>
      <p className="mb-2 text-sm text-ink2">
        The last 20 backups are kept. One is created before each restore, and before connecting,
        moving, importing or undoing changes this file. To create one in a terminal, run:{' '}
        <code className="font-mono text-xs whitespace-nowrap">drawbridge backup</code>
      </p>
      <Button
        disabled={keep.isPending}
        onClick={() =>
          keep.mutate(undefined, {
            onSuccess: () => toast('ok', 'Backup created.'),
            onError: toastError,
          })
        }
      >
        {keep.isPending ? (
          <LoaderCircle className="size-4 animate-spin" aria-hidden />
        ) : (
          <Copy className="size-4" aria-hidden />
        )}
        Create backup
      </Button>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {escapeControlCharacters(messageOf(error))}
        </p>
      )}
      {data && data.length === 0 && <p className="mt-2 text-sm text-ink3">No backups yet.</p>}
      {data && data.length > 0 && (
        <ul
          aria-label={texts.configCopies.copiesTitle}
          className="mt-3 overflow-hidden rounded-md border text-sm"
        >
          {data.map((copy) => (
            <Item
              key={copy.name}
              copy={copy}
              open={open === copy.name}
              onOpen={() => setOpen((old) => (old === copy.name ? undefined : copy.name))}
              onDone={() => setOpen(undefined)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

function Item({
  copy,
  open,
  onOpen,
  onDone,
}: {
  copy: ConfigBackup;
  open: boolean;
  onOpen: () => void;
  onDone: () => void;
}) {
  const now = useNow();
  const when = exactTime(copy.at).slice(0, 19);
  return (
    <li className="border-t first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
        <span className="min-w-0 flex-1">
          <span className="block">{when}</span>
          <span className="block text-xs text-ink3">
            {texts.servers.ago(age(copy.at, now))} · {bytes(copy.bytes)}
            {copy.current && <span className="text-ok"> · current</span>}
          </span>
        </span>
        <Button
          small
          aria-expanded={open}
          aria-label={open ? `Hide the backup of ${when}` : `View the backup of ${when}`}
          onClick={onOpen}
        >
          {open ? words.hide : 'View'}
        </Button>
      </div>
      {open && <Content name={copy.name} when={when} onDone={onDone} />}
    </li>
  );
}

function Content({ name, when, onDone }: { name: string; when: string; onDone: () => void }) {
  const { data, error } = useQuery(copyQuery(name));
  const [asking, setAsking] = useState<RetentionPreview | Error | undefined>(undefined);
  const less = useConfigRetentionPreview();
  const [whole, setWhole] = useState(false);
  const restore = useRestoreConfigCopy();
  if (error)
    return (
      <p role="alert" className="px-3 pb-2 text-sm text-bad">
        {escapeControlCharacters(messageOf(error))}
      </p>
    );
  if (!data) return <p className="px-3 pb-2 text-sm text-ink3">{texts.loading}</p>;
  const goes = asking instanceof Error || (asking?.calls ?? 0) > 0;
  const broken = data.problems.filter((problem) => !problem.warning);
  return (
    <div className="space-y-3 border-t bg-canvas p-3">
      {data.diff === '' ? (
        <p className="text-ink2">Identical to the current file.</p>
      ) : (
        <Labelled label={words.copyDiff}>
          <HunkDiff diff={data.diff} label={words.copyDiff} />
        </Labelled>
      )}
      {broken.length > 0 && (
        <div className="rounded-md bg-bad-soft px-3 py-2 text-bad [overflow-wrap:anywhere]">
          <p>This backup has errors and cannot be restored:</p>
          <ul className="list-disc pl-5">
            {broken.slice(0, 10).map((problem) => (
              <li key={problem.message}>{escapeControlCharacters(problem.message)}</li>
            ))}
          </ul>
          <More of={broken.length} shown={10} />
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        {data.diff !== '' && broken.length === 0 && (
          <Button
            disabled={less.isPending}
            onClick={() =>
              less.mutate({ copy: name }, { onSuccess: setAsking, onError: setAsking })
            }
          >
            {less.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {words.putBack}
          </Button>
        )}
        <Button look="quiet" aria-expanded={whole} onClick={() => setWhole((on) => !on)}>
          {whole ? words.hide : 'Show backup (secrets redacted)'}
        </Button>
      </div>
      {whole && (
        <ScrollArea
          aria-label="Backup (secrets redacted)"
          className="max-h-96 rounded-md border bg-sunken p-3 font-mono text-xs leading-[1.6] whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {escapeControlCharacters(data.text.slice(0, 200_000))}
        </ScrollArea>
      )}
      {asking && (
        <Confirm
          title={`Restore the backup of ${when}?`}
          action={words.putBack}
          danger={goes}
          of={restore}
          onConfirm={() =>
            restore.mutate(
              { name, etag: data.etag },
              {
                onSuccess: () => {
                  toast('ok', 'Backup restored.');
                  onDone();
                },
              },
            )
          }
          onClose={() => setAsking(undefined)}
        >
          <p>
            The current configuration will be backed up first. Servers will be started, stopped or
            restarted as needed.
          </p>
          {goes && (
            <div className="mt-2">
              <RetentionLoss found={asking} />
            </div>
          )}
        </Confirm>
      )}
    </div>
  );
}
