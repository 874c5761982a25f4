import { useSuspenseQuery } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { Button } from '@/components/button';
import { Facts } from '@/components/fields';
import { bytes, count, exactTime } from '@/lib/format';
import { toast, toastError } from '@/lib/toast';
import { historyStateQuery, useHistoryMaintenance, useRecording } from './api';
import { Prune, Retention } from './retention';

const indexPending = (n: string) =>
  `${n === '1' ? '1 newer call' : `${n} newer calls`} not yet searchable`;

/** The settings of the history and its size, or what few need. */
export function HistoryPanel({ advanced = false }: { advanced?: boolean }) {
  const { data: state } = useSuspenseQuery(historyStateQuery);
  const recording = useRecording();
  const upkeep = useHistoryMaintenance();
  const paused = state.recording.paused;
  if (advanced)
    return (
      <div className="flex flex-wrap gap-2">
        <Prune state={state} />
        <Button
          disabled={upkeep.isPending}
          onClick={() =>
            upkeep.mutate('vacuum', {
              onSuccess: () => toast('ok', 'Database compacted.'),
              onError: toastError,
            })
          }
        >
          Compact database
        </Button>
      </div>
    );
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          disabled={recording.isPending}
          onClick={() =>
            recording.mutate({ ...state.recording, paused: !paused }, { onError: toastError })
          }
        >
          {paused ? (
            <Play className="size-4" aria-hidden />
          ) : (
            <Pause className="size-4" aria-hidden />
          )}
          {paused ? 'Resume recording' : 'Pause recording'}
        </Button>
        <span className={paused ? 'text-sm font-medium text-warn' : 'text-sm text-ink2'}>
          {paused ? 'Recording is paused. Calls continue as usual.' : 'Calls are recorded.'}
        </span>
      </div>
      <Facts
        rows={[
          ['Calls', count(state.calls)],
          [
            'Size',
            `${bytes(state.bytes)}${state.freeBytes > 0 ? ` (${bytes(state.freeBytes)} free)` : ''}`,
          ],
          ['Search index', state.indexPending > 0 && indexPending(count(state.indexPending))],
          [
            'Kept past expiry',
            state.clockHold &&
              `${count(state.clockHold.calls)}, until ${exactTime(state.clockHold.until)}, because the system clock changed`,
          ],
          [
            'Recording rules',
            (state.recording.rules ?? [])
              .map(({ server, tool = '*', record }) => `${server} / ${tool}: ${record}`)
              .join(', '),
          ],
          ['Not recorded', state.recorder.dropped > 0 && count(state.recorder.dropped)],
        ]}
      />
      <Retention state={state} />
    </div>
  );
}
