import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { Labelled, SelectField } from '@/components/fields';
import { DialogForm } from '@/components/form-dialog';
import { Modal } from '@/components/modal';
import { CheckBox, LinesField, TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { messageOf } from '@/lib/request';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Auto, CallDetail } from '@/types/api';
import { checksQuery, useSaveCheck } from './api';
import {
  answerOf,
  defaultExpectation,
  type ExpectationInput,
  isValidCheckName,
  isValidExpectation,
  outcomes,
  stepOf,
  suggestedName,
  whyNotRepeatable,
} from './step-expectations';

const autoTexts = withoutPrototypes({
  '': 'If all its tools are read-only',
  on: 'Yes',
  off: 'No',
} as const);

const words = {
  autoLabel: 'Run automatically when a server changes',
  saveTitle: 'Save as check',
  outcome: 'Outcome',
};

/** Creates a check from recorded calls; `load` fetches one with its payloads. */
export function SaveDialog({
  ids,
  load,
  onClose,
}: {
  ids: string[];
  load: (id: string) => Promise<CallDetail>;
  onClose: () => void;
}) {
  const calls = useQuery({
    queryKey: ['check-of', ids],
    queryFn: () => inOrder(ids, load),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Modal label={words.saveTitle} onClose={onClose} className="max-w-xl">
      {calls.data ? (
        <Form calls={calls.data} onClose={onClose} />
      ) : (
        <div className="p-5">
          <h2 className="text-lg font-semibold">{words.saveTitle}</h2>
          <p role={calls.isError ? 'alert' : 'status'} className="mt-2 text-sm text-ink2">
            {calls.isError ? escapeControlCharacters(messageOf(calls.error)) : texts.loading}
          </p>
          <div className="mt-5 flex justify-end">
            <Button autoFocus onClick={onClose}>
              {texts.actions.cancel}
            </Button>
          </div>
        </div>
      )}
    </Modal>
  );
}

/** One after the other, to avoid up to two hundred concurrent requests. */
async function inOrder(ids: string[], load: (id: string) => Promise<CallDetail>) {
  const calls: CallDetail[] = [];
  for (const id of ids) calls.push(await load(id));
  return calls;
}

function Form({ calls, onClose }: { calls: CallDetail[]; onClose: () => void }) {
  const first = calls[0];
  const serverName = useServerName();
  const nameOf = (call: CallDetail) =>
    escapeControlCharacters(`${serverName(call.server)} / ${call.tool}`.slice(0, 300));
  const [name, setName] = useState(
    first ? suggestedName(serverName(first.server), first.tool) : '',
  );
  const [auto, setAuto] = useState<Auto>('');
  const [wishes, setWishes] = useState(() => calls.map(defaultExpectation));
  const { data: known } = useQuery(checksQuery);
  const save = useSaveCheck();
  const again = useSaveCheck();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.select(), []);
  const navigate = useNavigate();
  const stuck = calls.some((call) => whyNotRepeatable(call) !== undefined);
  const sound = isValidCheckName(name) && !stuck && wishes.every(isValidExpectation);
  const submit = () => {
    const before = known?.find((check) => check.name === name);
    save.mutate(
      {
        name,
        auto,
        steps: calls.map((call, at) => stepOf(call, wishes[at] ?? defaultExpectation(call))),
      },
      {
        onSuccess: () => {
          toast(
            'ok',
            `${name} saved.`,
            before && {
              text: texts.care.undo,
              run: () =>
                again
                  .mutateAsync(before)
                  .then(() => toast('ok', `${name} restored.`))
                  .catch(toastError),
            },
          );
          onClose();
          navigate({ to: '/checks' });
        },
      },
    );
  };
  return (
    <DialogForm
      title={words.saveTitle}
      action="Save check"
      ready={sound}
      pending={save.isPending}
      error={save.error}
      long
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        small
        label="Name"
        ref={box}
        value={name}
        maxLength={100}
        aria-invalid={name !== '' && !isValidCheckName(name)}
        hint={
          known?.some((check) => check.name === name) ? (
            <span className="text-warn">A check with this name exists. Saving replaces it.</span>
          ) : (
            'At most 100 letters, digits, dots, dashes and underscores; must start with a letter or digit.'
          )
        }
        onChange={setName}
      />
      <div className="@container">
        <Labelled label={words.autoLabel}>
          <SelectField
            label={words.autoLabel}
            value={auto}
            options={(['', 'on', 'off'] as const).map((value) => ({
              value,
              text: autoTexts[value],
            }))}
            onChange={(value) => setAuto(value as Auto)}
          />
        </Labelled>
      </div>
      <ol className="space-y-3">
        {calls.map((call, at) => (
          <li key={call.id}>
            <Expectation
              call={call}
              title={calls.length > 1 ? `${at + 1}. ${nameOf(call)}` : nameOf(call)}
              label={`Expected result of call ${at + 1}, ${nameOf(call)}`}
              wish={wishes[at] ?? defaultExpectation(call)}
              onChange={(wish) =>
                setWishes((old) => old.map((one, index) => (index === at ? wish : one)))
              }
            />
          </li>
        ))}
      </ol>
    </DialogForm>
  );
}

/** The expectations for one call. */
function Expectation({
  call,
  title,
  label,
  wish,
  onChange,
}: {
  call: CallDetail;
  title: string;
  label: string;
  wish: ExpectationInput;
  onChange: (wish: ExpectationInput) => void;
}) {
  const why = whyNotRepeatable(call);
  const answer = answerOf(call);
  return (
    <fieldset aria-label={label} className="@container space-y-3 rounded-md border p-3">
      <p className="text-sm font-medium [overflow-wrap:anywhere]">{title}</p>
      {why && (
        <p role="alert" className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          {why}
        </p>
      )}
      <div className="flex flex-wrap items-end gap-4">
        <Labelled label={words.outcome}>
          <SelectField
            label={words.outcome}
            value={wish.outcome}
            options={outcomes.map((value) => ({ value, text: texts.outcomes[value] }))}
            onChange={(value) =>
              onChange({ ...wish, outcome: outcomes.find((one) => one === value) ?? 'ok' })
            }
          />
        </Labelled>
        <TextField
          small
          label="Maximum duration (ms)"
          inputMode="numeric"
          value={wish.within}
          aria-invalid={!isValidExpectation(wish)}
          onChange={(within) => onChange({ ...wish, within })}
          inputClassName="max-w-28"
        />
      </div>
      <LinesField
        small
        label="Result contains (one per line)"
        value={wish.contains}
        onChange={(contains) => onChange({ ...wish, contains })}
      />
      <CheckBox
        label="Result equals the recorded one"
        hint={
          answer === undefined
            ? 'The result was not recorded in full.'
            : 'Fails if anything varies between calls, such as a date.'
        }
        checked={wish.sameResult}
        disabled={answer === undefined}
        onChange={(sameResult) => onChange({ ...wish, sameResult })}
      />
    </fieldset>
  );
}
