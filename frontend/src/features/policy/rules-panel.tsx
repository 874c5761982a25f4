import { useQuery } from '@tanstack/react-query';
import { ArrowDown, ArrowUp, Pencil, X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { ConfigPartEditor } from '@/components/config-part-editor';
import { Failure } from '@/components/failure';
import { SelectField } from '@/components/fields';
import { TextField } from '@/components/text-field';
import { describeRules, newRule, ruleEdits, rulesOf, rulesPath, thens } from '@/lib/argument-rules';
import { classes } from '@/lib/class-names';
import { edited, moveEdit, setEdit, textEdit, typedText } from '@/lib/config-edits';
import { configQuery, editedConfigQuery } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { readJsonc } from '@/lib/jsonc';
import { isRecord, ownValue } from '@/lib/own-property';
import { useUnsaved } from '@/lib/unsaved-changes';
import type { ConfigFile, Edit } from '@/types/api';
import { ConditionFields } from './condition-fields';
import { TrialResult, useTrial } from './rule-trial';
import { useSaveRules, yamlRefused } from './use-save-rules';

const placeholder = 'SERVER__TOOL';
const tones = {
  allow: 'bg-ok-soft text-ok',
  ask: 'bg-warn-soft text-warn',
  deny: 'bg-bad-soft text-bad',
};

/** The rules of the configuration file, in the order in which they apply. */
export function RulesPanel() {
  const { data: file, error } = useQuery(configQuery);
  if (!file) return <Failure error={error} />;
  if (/\.ya?ml$/.test(file.path)) return <p className="text-sm text-ink2">{yamlRefused}</p>;
  return <Rules file={file} />;
}

function Rules({ file: now }: { file: ConfigFile }) {
  // The file when editing began: saving is rejected if the file has changed since.
  const [draft, setDraft] = useState<{ file: ConfigFile; edits: Edit[] }>();
  const [asText, setAsText] = useState(false);
  const [open, setOpen] = useState<number>(); // the rule that is edited
  const { file, edits } = draft ?? { file: now, edits: [] };
  const before = rulesOf(file.text);
  const typed = edits.length > 0 ? typedText(edits) : before;
  const dirty = typed !== before;
  useUnsaved(dirty);
  const preview = useQuery(
    editedConfigQuery(
      file.etag,
      asText && typed === undefined
        ? [textEdit([], file.text), ...ruleEdits(file.text, edits)]
        : [],
    ),
  );
  const text = typed ?? (preview.data && rulesOf(preview.data.text));
  const trial = useTrial();
  const save = useSaveRules(() => setDraft(undefined));
  const change = (next: Edit[]) => {
    setDraft({ file, edits: next });
    trial.reset();
    save.reset();
  };
  const add = (edit: Edit) => change([...edits, edit]);
  const fault = typed === undefined ? undefined : readJsonc(typed).fault;
  const value = fault ? undefined : edited(readJsonc(before).value, edits);
  const rules = describeRules(value);
  const values = Array.isArray(value) ? value : [];
  const unfilled = typed?.includes(placeholder) ?? false;
  const decided = new Map(trial.data?.rules.map(({ rule, calls }) => [rule, calls]));
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">
        The first matching rule decides whether a call is allowed, needs your approval, or is
        denied.
      </p>
      {asText && text === undefined ? (
        <Failure error={preview.error} />
      ) : asText && text !== undefined ? (
        <ConfigPartEditor
          base={rulesPath}
          label="Rules"
          value={text}
          onChange={(all) => change([textEdit([], all)])}
          language="jsonc"
          className="h-72"
        />
      ) : !rules?.length ? (
        <p className="text-sm text-ink3">
          {rules ? 'No rules yet.' : 'The text is not a list of rules.'}
        </p>
      ) : (
        <ol className="rounded-md border text-sm">
          {rules.map((rule, index) => {
            const calls = decided.get(`policy.rules[${index}]`);
            return (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: rules have no other identity
                key={index}
                className="border-t px-3 py-2 first:border-t-0"
              >
                <div className="flex items-start gap-2">
                  <span
                    className={classes(
                      'mt-0.5 w-12 shrink-0 rounded px-1.5 text-center text-xs leading-5 font-medium',
                      ownValue(tones, rule.action) ?? tones.ask,
                    )}
                  >
                    {ownValue(thens, rule.action) ?? '?'}
                  </span>
                  <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                    {escapeControlCharacters(rule.text.slice(0, 1000))}
                    {(rule.because || calls) && (
                      <span className="block text-xs text-ink3">
                        {escapeControlCharacters(
                          [
                            rule.because.slice(0, 300),
                            calls &&
                              (calls === 1
                                ? 'matches 1 recorded call'
                                : `matches ${calls.toLocaleString('en')} recorded calls`),
                          ]
                            .filter(Boolean)
                            .join(' · '),
                        )}
                      </span>
                    )}
                  </span>
                  <span className="flex shrink-0">
                    <IconButton
                      small
                      label={`Edit rule ${index + 1}`}
                      aria-expanded={open === index}
                      onClick={() => setOpen(open === index ? undefined : index)}
                    >
                      <Pencil className="size-4" aria-hidden />
                    </IconButton>
                    <IconButton
                      small
                      label={`Move rule ${index + 1} up`}
                      disabled={index === 0}
                      onClick={() => add(moveEdit([], index, index - 1))}
                    >
                      <ArrowUp className="size-4" aria-hidden />
                    </IconButton>
                    <IconButton
                      small
                      label={`Move rule ${index + 1} down`}
                      disabled={index === rules.length - 1}
                      onClick={() => add(moveEdit([], index, index + 1))}
                    >
                      <ArrowDown className="size-4" aria-hidden />
                    </IconButton>
                    <IconButton
                      small
                      label={`Remove rule ${index + 1}`}
                      onClick={() => add(setEdit([index], undefined))}
                    >
                      <X className="size-4" aria-hidden />
                    </IconButton>
                  </span>
                </div>
                {open === index && (
                  <RuleFields
                    rule={values[index]}
                    onChange={(path, to) => add(setEdit([index, ...path], to))}
                  />
                )}
              </li>
            );
          })}
        </ol>
      )}
      {unfilled && (
        <p role="alert" className="text-sm text-warn">
          {`Replace ${placeholder} with the name of a tool, such as files__write_file, or with a pattern, such as *__delete_*.`}
        </p>
      )}
      <Failure error={save.error ?? trial.error} />
      <div className="flex flex-wrap gap-2">
        {dirty && (
          <>
            <Button
              look="primary"
              disabled={!rules || unfilled || save.isPending}
              onClick={() => save.mutate({ file, edits })}
            >
              Save rules
            </Button>
            <Button
              onClick={() => {
                setDraft(undefined);
                trial.reset();
                save.reset();
              }}
            >
              Discard
            </Button>
          </>
        )}
        <Button
          disabled={!rules?.length || trial.isPending}
          onClick={() => trial.mutate(JSON.stringify(value))}
        >
          {trial.isPending ? 'Testing…' : 'Test against history'}
        </Button>
        <Button
          onClick={() => {
            add(
              newRule({
                tool: placeholder,
                where: { '/path': { under: '/' } },
                action: 'ask',
              }),
            );
            setAsText(true);
          }}
        >
          Add rule
        </Button>
        <Button aria-pressed={asText} onClick={() => setAsText((on) => !on)}>
          Edit as text
        </Button>
      </div>
      {trial.data && <TrialResult trial={trial.data} />}
    </div>
  );
}

/** The fields of one rule: its action, the values of its conditions, and its reason. */
function RuleFields({
  rule,
  onChange,
}: {
  rule: unknown;
  onChange: (path: string[], to: unknown) => void;
}) {
  const [because, setBecause] = useState<string>();
  if (!isRecord(rule)) return null;
  const reason = typeof rule.because === 'string' ? rule.because : '';
  return (
    <div className="mt-2 space-y-3 rounded-md bg-sunken p-3">
      <div className="w-fit">
        <SelectField
          label="Action"
          narrows={false}
          value={String(rule.then ?? '')}
          options={Object.entries(thens).map(([value, text]) => ({ value, text }))}
          onChange={(to) => onChange(['then'], to)}
        />
      </div>
      {isRecord(rule.where) && (
        <ConditionFields
          where={rule.where}
          onChange={(path, to) => onChange(['where', ...path], to)}
        />
      )}
      <TextField
        label="Reason (optional)"
        value={because ?? reason}
        maxLength={300}
        onChange={setBecause}
        onBlur={() => {
          if (because !== undefined && because.trim() !== reason)
            onChange(['because'], because.trim() || undefined);
        }}
      />
    </div>
  );
}
