import { Download, LoaderCircle } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '@/components/button';
import { CommandWords } from '@/components/command-words';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { Section } from '@/components/fields';
import { JsonView } from '@/components/json-view';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Field, Installation } from '@/types/api';
import { type InstallRequest, useInstall, usePlan } from './api';
import { InputField } from './input-field';
import { enteredValues, initialValues, missingFields } from './install-values';

/**
 * The form of one installation: its inputs, exactly what will run with them, and the install
 * button. The result of the installation replaces the form.
 */
export function InstallForm({
  order,
  label: firstLabel,
  fields,
  taken,
  installed,
  onInstalled,
}: {
  order: Pick<InstallRequest, 'name' | 'option' | 'upload'>;
  label: string;
  fields: Field[];
  /** Whether a server with that name exists. */
  taken: (label: string) => boolean;
  /** Shows a server that was just installed. */
  installed: (id: string) => ReactNode;
  onInstalled?: () => void;
}) {
  const [label, setLabel] = useState(() => free(firstLabel, taken));
  const [values, setValues] = useState(() => initialValues(fields));
  const [tried, setTried] = useState(false);
  const missing = missingFields(fields, values);
  const whole = { ...order, label: label.trim(), values: enteredValues(fields, values) };
  const plan = usePlan(whole);
  const install = useInstall();
  if (install.data) return <>{installed(install.data.id)}</>;
  const inUse = taken(label.trim());
  const ready =
    missing.length === 0 && !inUse && plan.current && Boolean(plan.data?.entry) && !plan.isError;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (ready && plan.data && !install.isPending)
          install.mutate({ order: whole, entry: plan.data.entry }, { onSuccess: onInstalled });
      }}
    >
      <Section title="Settings">
        <div className="space-y-4">
          <TextField
            label="Server name"
            value={label}
            maxLength={64}
            fault={inUse ? texts.add.taken : undefined}
            onChange={setLabel}
          />
          {fields.map((field) => (
            <InputField
              key={field.key}
              field={field}
              value={values[field.key] ?? ''}
              wanted={tried && missing.includes(field)}
              onChange={(value) => {
                install.reset();
                setValues((old) => ({ ...old, [field.key]: value }));
              }}
            />
          ))}
        </div>
      </Section>
      <Section title="This will run">
        <WhatWillRun
          plan={missing.length === 0 ? plan.data : undefined}
          error={plan.isError ? plan.error : undefined}
          missing={missing}
        />
        {install.isError && (
          <div className="mt-3">
            <Failure error={install.error} />
          </div>
        )}
        <div className="mt-4 flex flex-wrap items-center gap-3">
          <Button
            type="submit"
            look="primary"
            disabled={install.isPending || (missing.length === 0 && !ready)}
          >
            {install.isPending ? (
              <LoaderCircle className="size-4 animate-spin" aria-hidden />
            ) : (
              <Download className="size-4" aria-hidden />
            )}
            {install.isPending ? 'Installing…' : 'Install'}
          </Button>
          <span className="text-xs text-ink3">
            Adds the server to the configuration and starts it. You can remove it on its page.
          </span>
        </div>
      </Section>
    </form>
  );
}

function WhatWillRun({
  plan,
  error,
  missing,
}: {
  plan: Installation | undefined;
  error: unknown;
  missing: Field[];
}) {
  const [asText, setAsText] = useState(false);
  if (missing.length > 0)
    return (
      <p role="status" className="text-sm text-ink2 [overflow-wrap:anywhere]">
        {`Fill in ${missing.map((field) => escapeControlCharacters(field.label.slice(0, 60))).join(', ')} first.`}
      </p>
    );
  if (error !== undefined) return <Failure error={error} />;
  if (!plan?.entry) return <p className="text-sm text-ink3">{texts.loading}</p>;
  const address = /"url": "([^"]*)"/.exec(plan.entry)?.[1];
  return (
    <div className="space-y-3">
      {plan.command.length > 0 ? (
        <CommandWords limited words={plan.command} label="Command" />
      ) : (
        address && <CopyField titled text={escapeControlCharacters(address)} label="URL" />
      )}
      {plan.secrets.length > 0 && (
        <p className="text-sm text-ink2 [overflow-wrap:anywhere]">
          {`Stored as secrets, not in the configuration file: ${plan.secrets.map((name) => escapeControlCharacters(name)).join(', ')}.`}
        </p>
      )}
      <Button small look="quiet" aria-expanded={asText} onClick={() => setAsText((on) => !on)}>
        {asText ? 'Hide entry' : 'Show entry'}
      </Button>
      {asText && <JsonView text={plan.entry} label={texts.servers.config.entry} />}
    </div>
  );
}

/** The first unused name: the label itself, or the label with a number. */
function free(label: string, taken: (label: string) => boolean): string {
  if (!taken(label)) return label;
  for (let n = 2; ; n++) if (!taken(`${label}-${n}`)) return `${label}-${n}`;
}
