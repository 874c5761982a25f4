import { useQuery } from '@tanstack/react-query';
import { ArrowDown, ArrowUp, X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { ConfigPartEditor } from '@/components/config-part-editor';
import { Failure } from '@/components/failure';
import { addRule, describeRules, moveRule, rulesOf } from '@/lib/argument-rules';
import { classes } from '@/lib/class-names';
import { configQuery } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { ownValue } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { ConfigFile } from '@/types/api';
import { TrialResult, useTrial } from './rule-trial';
import { useSaveRules } from './use-save-rules';

const t = texts.rules;
const rulesPath = ['policy', 'rules'];
const tones = {
  allow: 'bg-ok-soft text-ok',
  ask: 'bg-warn-soft text-warn',
  deny: 'bg-bad-soft text-bad',
};

/** The rules of the configuration file, in the order in which they apply. */
export function RulesPanel() {
  const { data: file, error } = useQuery(configQuery);
  if (!file) return <Failure error={error} />;
  if (/\.ya?ml$/.test(file.path)) return <p className="text-sm text-ink2">{t.yaml}</p>;
  return <Rules file={file} />;
}

function Rules({ file: now }: { file: ConfigFile }) {
  // The file when editing began: saving is rejected if the file has changed since.
  const [edit, setEdit] = useState<{ file: ConfigFile; text: string }>();
  const [asText, setAsText] = useState(false);
  const file = edit?.file ?? now;
  const text = edit?.text ?? rulesOf(file.text);
  const dirty = edit !== undefined && edit.text !== rulesOf(edit.file.text);
  useUnsaved(dirty);
  const trial = useTrial();
  const save = useSaveRules(() => setEdit(undefined));
  const change = (next: string) => {
    setEdit({ file, text: next });
    trial.reset();
    save.reset();
  };
  const rules = describeRules(text);
  const decided = new Map(trial.data?.rules.map(({ rule, calls }) => [rule, calls]));
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">{t.hint}</p>
      {asText ? (
        <ConfigPartEditor
          base={rulesPath}
          label={t.editor}
          value={text}
          onChange={change}
          language="jsonc"
          className="h-72"
        />
      ) : !rules?.length ? (
        <p className="text-sm text-ink3">{rules ? t.none : t.invalid}</p>
      ) : (
        <ol className="rounded-md border text-sm">
          {rules.map((rule, index) => {
            const calls = decided.get(`policy.rules[${index}]`);
            return (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: rules have no other identity
                key={index}
                className="flex items-start gap-2 border-t px-3 py-2 first:border-t-0"
              >
                <span
                  className={classes(
                    'mt-0.5 w-12 shrink-0 rounded px-1.5 text-center text-xs leading-5 font-medium',
                    ownValue(tones, rule.action) ?? tones.ask,
                  )}
                >
                  {ownValue(t.thens, rule.action) ?? '?'}
                </span>
                <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                  {escapeControlCharacters(rule.text.slice(0, 1000))}
                  {(rule.because || calls) && (
                    <span className="block text-xs text-ink3">
                      {escapeControlCharacters(
                        [rule.because.slice(0, 300), calls && t.decided(calls)]
                          .filter(Boolean)
                          .join(' · '),
                      )}
                    </span>
                  )}
                </span>
                <span className="flex shrink-0">
                  <IconButton
                    small
                    label={t.up(index + 1)}
                    disabled={index === 0}
                    onClick={() => change(moveRule(text, index, index - 1))}
                  >
                    <ArrowUp className="size-4" aria-hidden />
                  </IconButton>
                  <IconButton
                    small
                    label={t.down(index + 1)}
                    disabled={index === rules.length - 1}
                    onClick={() => change(moveRule(text, index, index + 1))}
                  >
                    <ArrowDown className="size-4" aria-hidden />
                  </IconButton>
                  <IconButton
                    small
                    label={t.remove(index + 1)}
                    onClick={() => change(moveRule(text, index, undefined))}
                  >
                    <X className="size-4" aria-hidden />
                  </IconButton>
                </span>
              </li>
            );
          })}
        </ol>
      )}
      <Failure error={save.error ?? trial.error} />
      <div className="flex flex-wrap gap-2">
        {dirty && (
          <>
            <Button
              look="primary"
              disabled={!rules || save.isPending}
              onClick={() => save.mutate({ file, rules: text })}
            >
              {t.save}
            </Button>
            <Button
              onClick={() => {
                setEdit(undefined);
                trial.reset();
                save.reset();
              }}
            >
              {t.discard}
            </Button>
          </>
        )}
        <Button disabled={!rules?.length || trial.isPending} onClick={() => trial.mutate(text)}>
          {trial.isPending ? t.trying : t.try}
        </Button>
        <Button
          onClick={() => {
            change(
              addRule(text, {
                tool: 'SERVER__TOOL',
                where: { '/path': { under: '/' } },
                action: 'ask',
              }),
            );
            setAsText(true);
          }}
        >
          {t.add}
        </Button>
        <Button aria-pressed={asText} onClick={() => setAsText((on) => !on)}>
          {t.edit}
        </Button>
      </div>
      {trial.data && <TrialResult trial={trial.data} />}
    </div>
  );
}
