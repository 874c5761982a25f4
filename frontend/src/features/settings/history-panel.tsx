import { useSuspenseQuery } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { Button } from '@/components/button';
import { Facts } from '@/components/fields';
import { bytes, count, exactTime } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { historyStateQuery, useHistoryMaintenance, useRecording } from './api';
import { Backup } from './history-backup';
import { Rules } from './recording-rules';
import { Prune, Retention } from './retention';

const t = texts.settings.history;

/** The settings of the history and its size. */
export function HistoryPanel({ servers }: { servers: string[] }) {
  const { data: state } = useSuspenseQuery(historyStateQuery);
  const recording = useRecording();
  const upkeep = useHistoryMaintenance();
  const paused = state.recording.paused;
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
          {paused ? t.resume : t.pause}
        </Button>
        <span className={paused ? 'text-sm font-medium text-warn' : 'text-sm text-ink2'}>
          {paused ? t.isPaused : t.isOn}
        </span>
      </div>
      <Facts
        rows={[
          [t.calls, count(state.calls)],
          [
            t.size,
            `${bytes(state.bytes)}${state.freeBytes > 0 ? t.free(bytes(state.freeBytes)) : ''}`,
          ],
          [t.index, state.indexPending > 0 && t.indexPending(count(state.indexPending))],
          [
            t.held,
            state.clockHold &&
              t.heldUntil(count(state.clockHold.calls), exactTime(state.clockHold.until)),
          ],
          [t.dropped, state.recorder.dropped > 0 && count(state.recorder.dropped)],
        ]}
      />
      <Retention state={state} />
      <div className="flex flex-wrap gap-2">
        <Prune state={state} />
        <Button
          disabled={upkeep.isPending}
          onClick={() =>
            upkeep.mutate('vacuum', {
              onSuccess: () => toast('ok', t.vacuumed),
              onError: toastError,
            })
          }
        >
          {t.vacuum}
        </Button>
      </div>
      <Backup />
      <Rules state={state} servers={servers} />
    </div>
  );
}
