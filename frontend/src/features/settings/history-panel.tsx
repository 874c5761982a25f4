import { useSuspenseQuery } from '@tanstack/react-query';
import { Pause, Play, Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { Facts, SelectField } from '@/components/fields';
import { bytes, count, exactTime, plain } from '@/lib/format';
import { messageOf } from '@/lib/request';
import { useServerName } from '@/lib/server-names';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { HistoryState, Keeping, Rule } from '@/types/history';
import { historyStateQuery, useConfigValue, useRecording, useUpkeep } from './api';
import { Backup } from './backup';

const t = texts.settings.history;
const input = 'h-8 rounded-md border border-strong bg-panel px-2.5 text-sm placeholder:text-ink3';

/** What the history keeps, for how long, and how much that is. */
export function HistoryPanel({ servers }: { servers: string[] }) {
  const { data: state } = useSuspenseQuery(historyStateQuery);
  const recording = useRecording();
  const upkeep = useUpkeep();
  const [pruning, setPruning] = useState(false);
  const paused = state.recording.paused;
  const failed = (error: unknown) => toast('bad', plain(messageOf(error)));
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          disabled={recording.isPending}
          onClick={() =>
            recording.mutate({ ...state.recording, paused: !paused }, { onError: failed })
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
          [t.held, state.held && t.heldUntil(count(state.held.calls), exactTime(state.held.until))],
          [t.dropped, state.recorder.dropped > 0 && count(state.recorder.dropped)],
        ]}
      />
      <Retention state={state} />
      <div className="flex flex-wrap gap-2">
        <Button disabled={upkeep.isPending} onClick={() => setPruning(true)}>
          {t.prune}
        </Button>
        <Button
          disabled={upkeep.isPending}
          onClick={() =>
            upkeep.mutate('vacuum', { onSuccess: () => toast('ok', t.vacuumed), onError: failed })
          }
        >
          {t.vacuum}
        </Button>
      </div>
      {pruning && (
        <Confirm
          title={t.pruneTitle}
          action={texts.actions.delete}
          pending={upkeep.isPending}
          onClose={() => setPruning(false)}
          onConfirm={() =>
            upkeep.mutate('prune', {
              onSuccess: ({ deleted }) => toast('ok', texts.calls.deleted(deleted ?? 0)),
              onError: failed,
              onSettled: () => setPruning(false),
            })
          }
        >
          {t.pruneBody}
        </Confirm>
      )}
      <Backup />
      <Rules state={state} servers={servers} />
    </div>
  );
}

function Retention({ state }: { state: HistoryState }) {
  const id = useId();
  const [days, setDays] = useState<string | undefined>(undefined);
  const [size, setSize] = useState<string | undefined>(undefined);
  const save = useConfigValue();
  const keep = days ?? String(state.keepDays);
  const most = size ?? String(Math.round(state.maxBytes / 1e6));
  const sound = /^\d{1,5}$/.test(keep) && /^\d{1,7}$/.test(most);
  const changed =
    keep !== String(state.keepDays) || most !== String(Math.round(state.maxBytes / 1e6));
  const write = async () => {
    try {
      if (keep !== String(state.keepDays))
        await save.mutateAsync({ path: ['history', 'keepDays'], json: String(Number(keep)) });
      if (most !== String(Math.round(state.maxBytes / 1e6)))
        await save.mutateAsync({
          path: ['history', 'maxBytes'],
          json: String(Number(most) * 1_000_000),
        });
      setDays(undefined);
      setSize(undefined);
      toast('ok', texts.settings.saved);
    } catch (error) {
      toast('bad', plain(messageOf(error)));
    }
  };
  return (
    <form
      className="flex flex-wrap items-end gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (sound && changed) void write();
      }}
    >
      <div>
        <label htmlFor={`${id}-days`} className="mb-1 block text-xs text-ink3">
          {t.keepDays}
        </label>
        <input
          id={`${id}-days`}
          inputMode="numeric"
          value={keep}
          onChange={(event) => setDays(event.target.value)}
          className={`${input} w-24`}
        />
      </div>
      <div>
        <label htmlFor={`${id}-size`} className="mb-1 block text-xs text-ink3">
          {t.maxSize}
        </label>
        <input
          id={`${id}-size`}
          inputMode="numeric"
          value={most}
          onChange={(event) => setSize(event.target.value)}
          className={`${input} w-28`}
        />
      </div>
      <Button type="submit" look="primary" disabled={!sound || !changed || save.isPending}>
        {texts.settings.save}
      </Button>
      <span className="w-full text-xs text-ink3">{t.noBound}</span>
    </form>
  );
}

const keepings: Keeping[] = ['full', 'meta', 'off'];

/** What is kept of single servers and tools. */
function Rules({ state, servers }: { state: HistoryState; servers: string[] }) {
  const nameOf = useServerName();
  const recording = useRecording();
  const rules = state.recording.rules ?? [];
  const [server, setServer] = useState('');
  const [tool, setTool] = useState('');
  const [keep, setKeep] = useState<Keeping>('meta');
  const chosen = server || servers[0] || '';
  const write = (next: Rule[]) =>
    recording.mutate(
      { ...state.recording, rules: next },
      { onError: (error) => toast('bad', plain(messageOf(error))) },
    );
  const same = (rule: Rule) => rule.server === chosen && (rule.tool ?? '') === tool.trim();
  return (
    <div>
      <h3 className="font-medium">{t.rules}</h3>
      <p className="mb-2 text-sm text-ink2">{t.rulesBody}</p>
      {rules.length > 0 && (
        <ul className="mb-3 overflow-hidden rounded-md border text-sm">
          {rules.map((rule) => (
            <li
              key={`${rule.server}/${rule.tool ?? ''}`}
              className="flex items-center gap-3 border-t py-1 pr-1 pl-3 first:border-t-0"
            >
              <span className="min-w-0 flex-1 truncate">
                {plain(nameOf(rule.server).slice(0, 200))}
                {rule.tool && <span className="text-ink3"> / {plain(rule.tool)}</span>}
              </span>
              <span className="text-ink2">{t.keeping[rule.record] ?? rule.record}</span>
              <IconButton
                small
                label={t.removeRule(
                  plain([nameOf(rule.server), rule.tool].filter(Boolean).join(' / ')),
                )}
                disabled={recording.isPending}
                onClick={() => write(rules.filter((one) => one !== rule))}
              >
                <X className="size-3.5" aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {servers.length > 0 && (
        <form
          className="@container flex flex-wrap items-center gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            const rule: Rule = { server: chosen, record: keep };
            if (tool.trim()) rule.tool = tool.trim();
            write([...rules.filter((one) => !same(one)), rule]);
            setTool('');
          }}
        >
          <SelectField
            label={texts.calls.server}
            value={chosen}
            options={servers.map((id) => ({ value: id, text: plain(nameOf(id)) }))}
            onChange={setServer}
          />
          <input
            aria-label={t.ruleTool}
            placeholder={t.ruleTool}
            value={tool}
            maxLength={512}
            onChange={(event) => setTool(event.target.value)}
            className={`${input} w-44`}
          />
          <SelectField
            label={t.ruleKeep}
            value={keep}
            options={keepings.map((value) => ({ value, text: t.keeping[value] }))}
            onChange={(value) => setKeep(value as Keeping)}
          />
          <Button type="submit" disabled={recording.isPending}>
            <Plus className="size-4" aria-hidden />
            {t.addRule}
          </Button>
        </form>
      )}
    </div>
  );
}
