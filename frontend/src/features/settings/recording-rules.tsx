import { useQueryClient } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { DraftRestored } from '@/components/draft-restored';
import { SelectField } from '@/components/fields';
import { ServerPrefix } from '@/components/server-prefix';
import { TextField } from '@/components/text-field';
import { readDraft, useDraft } from '@/lib/drafts';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { HistoryState, RecordMode, Rule } from '@/types/api';
import { restoreRule, useRecording } from './api';

const keepingTexts = withoutPrototypes({
  full: 'Everything',
  meta: 'Metadata only',
  off: 'Nothing',
} as const);

const words = {
  ruleTool: 'Tool (leave empty for all)',
};

const place = 'recording rule';

interface Typed {
  server: string;
  tool: string;
  keep: RecordMode;
}

const keepings: RecordMode[] = ['full', 'meta', 'off'];

/** The recording rules for single servers and tools. */
export function Rules({ state, servers }: { state: HistoryState; servers: string[] }) {
  const client = useQueryClient();
  const serverName = useServerName();
  const recording = useRecording();
  const rules = state.recording.rules ?? [];
  const [kept] = useState(() => readDraft<Typed>(place));
  const [server, setServer] = useState(kept?.server ?? '');
  const [tool, setTool] = useState(kept?.tool ?? '');
  const [keep, setKeep] = useState<RecordMode>(kept?.keep ?? 'meta');
  const restored = useDraft<Typed>(place, tool.trim() === '' ? undefined : { server, tool, keep });
  const chosen = server || servers[0] || '';
  const write = (next: Rule[]) =>
    recording.mutate({ ...state.recording, rules: next }, { onError: toastError });
  const nameOf = (rule: Rule) =>
    escapeControlCharacters([serverName(rule.server), rule.tool].filter(Boolean).join(' / '));
  const remove = (rule: Rule) =>
    recording.mutate(
      { ...state.recording, rules: rules.filter((one) => one !== rule) },
      {
        onError: toastError,
        onSuccess: () =>
          toast('ok', `Rule for ${nameOf(rule)} removed.`, {
            text: texts.care.undo,
            run: () => restoreRule(client, rule).catch(toastError),
          }),
      },
    );
  if (servers.length === 0 && rules.length === 0) return null;
  const same = (rule: Rule) => rule.server === chosen && (rule.tool ?? '') === tool.trim();
  return (
    <div>
      <h3 className="text-sm font-semibold">Recording rules</h3>
      <p className="mb-2 text-sm text-ink2">
        Without a rule, everything is recorded. A rule for a tool overrides the rule for its server.
      </p>
      {rules.length > 0 && (
        <ul className="mb-3 overflow-hidden rounded-md border text-sm">
          {rules.map((rule) => (
            <li
              key={`${rule.server}/${rule.tool ?? ''}`}
              className="flex items-center gap-3 border-t py-1 pr-1 pl-3 first:border-t-0"
            >
              <span className="min-w-0 flex-1 truncate">
                {rule.tool ? (
                  <>
                    <ServerPrefix label={serverName(rule.server)} />
                    {escapeControlCharacters(rule.tool)}
                  </>
                ) : (
                  escapeControlCharacters(serverName(rule.server).slice(0, 200))
                )}
              </span>
              <span className="text-ink2">{keepingTexts[rule.record] ?? rule.record}</span>
              <IconButton
                small
                label={`Remove the rule for ${nameOf(rule)}`}
                disabled={recording.isPending}
                onClick={() => remove(rule)}
              >
                <X className="size-3.5" aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {restored && <DraftRestored onDiscard={() => setTool('')} />}
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
            options={servers.map((id) => ({
              value: id,
              text: escapeControlCharacters(serverName(id)),
            }))}
            onChange={setServer}
          />
          <TextField
            labelHidden
            label={words.ruleTool}
            placeholder={words.ruleTool}
            value={tool}
            maxLength={512}
            onChange={setTool}
            className="w-44"
          />
          <SelectField
            label="Record"
            value={keep}
            options={keepings.map((value) => ({ value, text: keepingTexts[value] }))}
            onChange={(value) => setKeep(value as RecordMode)}
          />
          <Button type="submit" disabled={recording.isPending}>
            <Plus className="size-4" aria-hidden />
            Add rule
          </Button>
        </form>
      )}
    </div>
  );
}
