import { CircleCheck, LoaderCircle, TriangleAlert, Undo2 } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '@/components/button';
import { DiffView } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { plain } from '@/lib/format';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { SharedImport, SharedServer } from '@/types/api';
import { usePlanTaking, usePutBack, useTake } from './sharing-api';

const t = texts.sharing;
const largest = 1 << 20;

/** Takes a shared file: what it would run, what it would change, what it asks for, and only then the change. */
export function TakeShared() {
  const id = useId();
  const [text, setText] = useState('');
  const [fault, setFault] = useState('');
  const plan = usePlanTaking();
  const read = async (file: File) => {
    setFault('');
    plan.reset();
    if (file.size > largest) return setFault(t.tooLarge);
    const content = await file.text();
    setText(content);
    plan.mutate(content);
  };
  const failed = fault || (plan.isError ? messageOf(plan.error) : '');
  return (
    <div>
      <h3 className="text-sm font-semibold">{t.importTitle}</h3>
      <p className="mb-2 text-sm text-ink2">{t.importBody}</p>
      <label htmlFor={id} className="sr-only">
        {t.chooseFile}
      </label>
      <input
        id={id}
        type="file"
        accept=".json,application/json"
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) read(file);
          event.target.value = '';
        }}
        className="max-w-full text-sm text-ink2 file:mr-3 file:h-8 file:rounded-md file:border file:border-strong file:bg-panel file:px-3 file:font-medium file:text-ink"
      />
      {plan.isPending && (
        <p role="status" className="mt-2 text-sm text-ink3">
          {t.reading}
        </p>
      )}
      {failed && (
        <p
          role="alert"
          className="mt-2 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]"
        >
          {plain(failed)}
        </p>
      )}
      {plan.data && (
        <Review key={plan.submittedAt} text={text} plan={plan.data} onAgain={() => plan.reset()} />
      )}
    </div>
  );
}

function Review({
  text,
  plan,
  onAgain,
}: {
  text: string;
  plan: SharedImport;
  onAgain: () => void;
}) {
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [agreed, setAgreed] = useState(false);
  const take = useTake();
  if (take.data) return <Taken taking={take.data} onAgain={onAgain} />;
  return (
    <form
      className="mt-3 space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!take.isPending)
          take.mutate({ text, diff: plan.diff, storedSecrets: plan.storedSecrets, secrets });
      }}
    >
      <ul className="overflow-hidden rounded-md border text-sm">
        {plan.servers.map((server) => (
          <Server key={server.label} server={server} />
        ))}
        {plan.profiles.map((profile) => (
          <li key={profile.name} className="border-t px-3 py-2 first:border-t-0">
            <span className="font-medium [overflow-wrap:anywhere]">
              {t.profile(plain(profile.name))}
            </span>
            <State state={profile.state} reason={profile.reason} />
          </li>
        ))}
      </ul>
      {plan.diff === '' ? (
        <p className="text-sm text-ink2">{t.nothingNew}</p>
      ) : (
        <>
          <p className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
            <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
            {t.anyProgram}
          </p>
          {plan.storedSecrets.length > 0 && (
            <div className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad [overflow-wrap:anywhere]">
              <p className="font-medium">
                {t.usesTitle}: {plain(plan.storedSecrets.slice(0, 100).join(', '))}
              </p>
              <p>{t.usesBody}</p>
              <label className="mt-1.5 flex items-center gap-2">
                <input
                  type="checkbox"
                  checked={agreed}
                  onChange={(event) => setAgreed(event.target.checked)}
                  className="size-4 shrink-0 accent-(--accent)"
                />
                {t.usesAgree}
              </label>
            </div>
          )}
          {plan.missingSecrets.length > 0 && (
            <Asked names={plan.missingSecrets} values={secrets} onChange={setSecrets} />
          )}
          <div>
            <p className="mb-1 text-xs text-ink3">{t.diff}</p>
            <DiffView diff={plan.diff} label={t.diff} />
          </div>
          <Failure error={take.error} />
          <div className="flex flex-wrap gap-2">
            <Button
              type="submit"
              look="primary"
              disabled={take.isPending || (plan.storedSecrets.length > 0 && !agreed)}
            >
              {take.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
              {take.isPending ? t.taking : t.take}
            </Button>
            <Button onClick={onAgain}>{texts.actions.cancel}</Button>
          </div>
        </>
      )}
    </form>
  );
}

function Asked({
  names,
  values,
  onChange,
}: {
  names: string[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}) {
  const id = useId();
  return (
    <fieldset className="space-y-2 rounded-md border p-3">
      <legend className="px-1 text-sm font-medium">{t.askTitle}</legend>
      <p className="text-xs text-ink3">{t.askBody}</p>
      {names.slice(0, 200).map((name, index) => (
        <div key={name}>
          <label
            htmlFor={`${id}-${index}`}
            className="mb-1 block font-mono text-xs [overflow-wrap:anywhere]"
          >
            {plain(name.slice(0, 200))}
          </label>
          <input
            id={`${id}-${index}`}
            type="password"
            autoComplete="new-password"
            value={values[name] ?? ''}
            onChange={(event) => onChange({ ...values, [name]: event.target.value })}
            className="h-8 w-full max-w-96 rounded-md border border-strong bg-panel px-2.5 text-sm"
          />
        </div>
      ))}
    </fieldset>
  );
}

function State({ state, reason }: { state: string; reason: string }) {
  return (
    <span
      className={`ml-2 text-xs [overflow-wrap:anywhere] ${state === 'new' ? 'text-ok' : state === 'rejected' ? 'text-bad' : 'text-ink3'}`}
    >
      {t.states[state] ?? plain(state)}
      {reason && `: ${plain(reason.slice(0, 500))}`}
    </span>
  );
}

/** What one server runs, word by word: this is what somebody agrees to. */
function Server({ server }: { server: SharedServer }) {
  const gets = [
    ...server.secrets.map((name) => t.secret(plain(name.slice(0, 200)))),
    ...server.variables.map((name) => t.variable(plain(name.slice(0, 200)))),
  ];
  return (
    <li className="border-t px-3 py-2 first:border-t-0">
      <span className="font-medium [overflow-wrap:anywhere]">{plain(server.label)}</span>
      <State state={server.state} reason={server.reason} />
      {server.state !== 'rejected' && (
        <dl className="mt-1 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 text-xs">
          {server.command.length > 0 && (
            <>
              <dt className="text-ink3">{t.runs}</dt>
              <dd className="font-mono whitespace-pre-wrap [overflow-wrap:anywhere]">
                {server.command.slice(0, 200).map((word, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
                  <span key={index} className="mr-1.5 rounded bg-sunken px-1">
                    {plain(word.slice(0, 2000))}
                  </span>
                ))}
              </dd>
            </>
          )}
          {server.url && (
            <>
              <dt className="text-ink3">{t.connects}</dt>
              <dd className="font-mono [overflow-wrap:anywhere]">
                {plain(server.url.slice(0, 2000))}
              </dd>
            </>
          )}
          {gets.length > 0 && (
            <>
              <dt className="text-ink3">{t.gets}</dt>
              <dd className="[overflow-wrap:anywhere]">{gets.slice(0, 100).join(', ')}</dd>
            </>
          )}
        </dl>
      )}
    </li>
  );
}

function Taken({ taking, onAgain }: { taking: SharedImport; onAgain: () => void }) {
  const undo = usePutBack();
  const news = [...taking.servers, ...taking.profiles].filter((one) => one.state === 'new').length;
  return (
    <div className="mt-3 space-y-2">
      <p role="status" className="flex items-center gap-2 text-sm text-ok">
        <CircleCheck className="size-4 shrink-0" aria-hidden />
        {undo.isSuccess ? t.undone : t.taken(news)}
      </p>
      {taking.missingSecrets.length > 0 && !undo.isSuccess && (
        <p className="text-sm text-warn [overflow-wrap:anywhere]">
          {t.stillNeeded(taking.missingSecrets.map((name) => plain(name)).join(', '))}
        </p>
      )}
      <Failure error={undo.error} />
      <div className="flex flex-wrap gap-2">
        {!undo.isSuccess && (
          <Button
            disabled={undo.isPending}
            onClick={() =>
              undo.mutate({ name: taking.backup, etag: taking.etag, secrets: taking.newSecrets })
            }
          >
            <Undo2 className="size-4" aria-hidden />
            {t.undo}
          </Button>
        )}
        <Button look="quiet" onClick={onAgain}>
          {t.another}
        </Button>
      </div>
    </div>
  );
}
