import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { ConditionChoice, whereOf } from '@/components/condition-choice';
import { Failure } from '@/components/failure';
import { SelectField } from '@/components/fields';
import { Modal } from '@/components/modal';
import { TextField } from '@/components/text-field';
import { newRule, rulesOf, thens } from '@/lib/argument-rules';
import { edited as applyEdits } from '@/lib/config-edits';
import { configQuery } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { readJsonc } from '@/lib/jsonc';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { RuleSuggestion } from '@/types/api';
import { ConditionFields } from './condition-fields';
import { TrialResult, useTrial } from './rule-trial';
import { useSaveRules, yamlRefused } from './use-save-rules';

const words = {
  makeTitle: 'Create a rule from this call',
};

/** Creates a rule for calls like this one; shows its effect on past calls before it is saved. */
export function RuleFromCall({ call, onClose }: { call: string; onClose: () => void }) {
  const { data: file, error } = useQuery(configQuery);
  const suggested = useQuery({
    queryKey: ['rule-suggestion', call],
    queryFn: ({ signal }) =>
      request<RuleSuggestion>('POST', '/api/v1/policy/suggest', { body: { call }, signal }),
    retry: false,
  });
  const [action, setAction] = useState('ask');
  const [off, setOff] = useState<number[]>([]);
  const [because, setBecause] = useState('');
  const { mutate: run, ...trial } = useTrial();
  const save = useSaveRules(onClose);
  const like = suggested.data;
  const [edited, setEdited] = useState<string[]>();
  const conditions = edited ?? like?.where ?? [];
  const yaml = file && /\.ya?ml$/.test(file.path);
  const rule = useMemo(() => {
    if (!file || !like || yaml) return undefined;
    const where = whereOf(edited ?? like.where, off);
    return newRule({
      tool: `${like.server}__${like.tool}`,
      ...(where && { where }),
      action,
      ...(because.trim() && { because: because.trim() }),
    });
  }, [file, like, yaml, off, action, because, edited]);
  useEffect(() => {
    if (!file || !rule) return;
    const rules = JSON.stringify(applyEdits(readJsonc(rulesOf(file.text)).value, [rule]));
    const timer = setTimeout(() => run(rules), 300);
    return () => clearTimeout(timer);
  }, [file, rule, run]);
  return (
    <Modal label={words.makeTitle} onClose={onClose} className="max-w-xl">
      <div className="scroll-area space-y-3 p-5">
        <h2 className="text-lg font-semibold">{words.makeTitle}</h2>
        {like && (
          <>
            <p className="text-sm text-ink2 [overflow-wrap:anywhere]">
              {escapeControlCharacters(
                `Applies to calls to ${`${like.server}__${like.tool}`.slice(0, 200)}, before all other rules.${like.similar > 0 ? ` Based on ${like.similar === 1 ? '1 similar call' : `${like.similar} similar calls`}.` : ''}`,
              )}
            </p>
            <div className="w-fit">
              <SelectField
                label="Action"
                value={action}
                narrows={false}
                options={Object.entries(thens).map(([value, text]) => ({
                  value,
                  text,
                }))}
                onChange={setAction}
              />
            </div>
            {conditions.length > 0 ? (
              <>
                <ConditionChoice conditions={conditions} off={off} onChange={setOff} />
                <details className="text-sm">
                  <summary className="w-fit cursor-pointer text-ink2">Edit values</summary>
                  <div className="mt-2 space-y-3">
                    {conditions.map((condition, n) => (
                      <ConditionFields
                        // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no other identity
                        key={n}
                        where={JSON.parse(condition)}
                        onChange={([name = '', test = ''], value) => {
                          const where = JSON.parse(condition);
                          where[name][test] = value;
                          setEdited(conditions.with(n, JSON.stringify(where)));
                        }}
                      />
                    ))}
                  </div>
                </details>
              </>
            ) : (
              <p className="text-sm text-ink2">
                No conditions can be suggested for these arguments. The rule applies to all calls to
                this tool.
              </p>
            )}
            <TextField
              label="Reason (optional)"
              value={because}
              maxLength={300}
              spellCheck
              onChange={setBecause}
            />
          </>
        )}
        {yaml && <p className="text-sm text-warn">{yamlRefused}</p>}
        <Failure error={error ?? suggested.error ?? trial.error ?? save.error} />
        {trial.data && <TrialResult trial={trial.data} added="policy.rules[0]" />}
        <div className="flex justify-end gap-2">
          <Button data-first onClick={onClose}>
            {texts.actions.cancel}
          </Button>
          <Button
            look="primary"
            disabled={!file || !rule || save.isPending}
            onClick={() => file && rule && save.mutate({ file, edits: [rule] })}
          >
            Save rules
          </Button>
        </div>
      </div>
    </Modal>
  );
}
