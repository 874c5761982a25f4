import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentProps, type ReactNode, useEffect, useId, useState } from 'react';
import { windowQuery } from '@/components/browse-buttons';
import { Choice, isStrings, NumberField, text } from '@/components/config-fields';
import { Switch } from '@/components/switch';
import { LinesField, TextField } from '@/components/text-field';
import { configQuery, readAtStart } from '@/lib/config-file';
import { readJsonc, valueAt } from '@/lib/jsonc';
import { isRecord } from '@/lib/own-property';
import { messageOf, RequestError, request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import { useConfigValue } from '@/lib/use-config-edit';

export const notHere = 'This cannot be set here. Edit the configuration file.';

const atStart = (path: string[]) => readAtStart.some((one) => one.join() === path.join());

/** Why a value was refused, without the position in the file. */
const reasonOf = (error: unknown) =>
  (error instanceof RequestError && error.fields[0]?.error.replace(/^.*?:\d+:\d+: /, '')) ||
  messageOf(error);

/** The options of the configuration that most users need, or few; each change is saved immediately. */
export function GeneralPanel({ advanced = false }: { advanced?: boolean }) {
  const { data: config } = useQuery(configQuery);
  const set = useConfigValue({
    refused: notHere,
    onSuccess: (undo, { path }) =>
      toast('ok', texts.settings[atStart(path) ? 'savedForRestart' : 'saved'], undo),
  });
  if (!config) return null;
  const { value, fault } = readJsonc(config.text);
  const at = (...path: string[]) => valueAt(value, path);
  const change = (path: string[], to: unknown, onError?: (error: unknown) => void) =>
    set.mutate({ path, to }, { onError: onError ?? toastError });
  const off = fault !== undefined || !isRecord(value);
  const limit = at('globalSettings', 'timeout');
  const redact = at('history', 'redact');
  return (
    <div className="space-y-4">
      {!advanced && <StartAtLogin />}
      {off ? (
        <p className="text-sm text-ink2">{notHere}</p>
      ) : advanced ? (
        <>
          <Row
            label="Metrics for Prometheus at /metrics"
            on={at('metrics', 'enabled') === true}
            disabled={set.isPending}
            onChange={(on) => change(['metrics', 'enabled'], on || undefined)}
          />
          <Committed
            label="Address and port"
            hint="Takes effect after Drawbridge restarts."
            value={text(at('bridge', 'listen'))}
            onCommit={(to, onError) =>
              change(['bridge', 'listen'], to.trim() || undefined, onError)
            }
            field={(props) => <TextField placeholder="127.0.0.1:7575" {...props} />}
          />
          {(redact === undefined || isStrings(redact)) && (
            <Committed
              label="Additional patterns to redact"
              hint="Regular expressions (RE2), one per line. Recognized secrets are always redacted."
              value={(redact ?? []).join('\n')}
              onCommit={(to, onError) => {
                const lines = to.split('\n').filter(Boolean);
                change(['history', 'redact'], lines.length > 0 ? lines : undefined, onError);
              }}
              field={(props) => <LinesField {...props} />}
            />
          )}
        </>
      ) : (
        <>
          <Row
            label="Desktop notifications"
            on={at('desktop', 'notifications') !== false}
            disabled={set.isPending}
            onChange={(on) => change(['desktop', 'notifications'], on ? undefined : false)}
          />
          <Row
            label="Ask before a new or changed command runs"
            on={at('globalSettings', 'approveNewCommands') === 'ask'}
            disabled={set.isPending}
            onChange={(on) =>
              change(['globalSettings', 'approveNewCommands'], on ? 'ask' : undefined)
            }
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <Choice
              label="Call approval"
              value={text(at('policy', 'approval'))}
              options={texts.servers.config.approvals}
              unset={texts.servers.config.defaults.approval}
              onChange={(to) => change(['policy', 'approval'], to || undefined)}
            />
            <Committed
              label={texts.servers.config.requestTimeoutMs}
              value={typeof limit === 'number' ? String(limit / 1000) : ''}
              faultOf={(to) =>
                to === '' || Number(to) >= 0.001
                  ? undefined
                  : 'Enter a number greater than 0, or leave the field empty.'
              }
              onCommit={(to, onError) =>
                change(
                  ['globalSettings', 'timeout'],
                  to === '' ? undefined : Math.round(Number(to) * 1000),
                  onError,
                )
              }
              field={(props) => (
                <NumberField placeholder={texts.servers.config.defaults.timeout} {...props} />
              )}
            />
          </div>
        </>
      )}
    </div>
  );
}

function StartAtLogin() {
  const client = useQueryClient();
  const { data } = useQuery(windowQuery);
  const set = useMutation({
    mutationFn: (startAtLogin: boolean) =>
      request('PUT', '/api/v1/desktop', { body: { startAtLogin } }),
    onError: toastError,
    onSettled: () => client.invalidateQueries(windowQuery),
  });
  if (!data) return null;
  return (
    <Row
      label="Start at login"
      on={data.startAtLogin}
      disabled={set.isPending}
      onChange={(on) => set.mutate(on)}
    />
  );
}

function Row(props: ComponentProps<typeof Switch>) {
  const id = useId();
  return (
    <div className="flex items-center gap-3 text-sm">
      <Switch id={id} {...props} />
      <label htmlFor={id} aria-hidden>
        {props.label}
      </label>
    </div>
  );
}

/**
 * A field whose value is saved when it is left, or with Enter in a single line. A value that is
 * refused stays in the field, with the reason below.
 */
function Committed({
  value,
  faultOf,
  onCommit,
  field,
  ...shown
}: {
  label: string;
  hint?: string;
  value: string;
  faultOf?: (to: string) => string | undefined;
  onCommit: (to: string, onError: (error: unknown) => void) => void;
  field: (props: {
    label: string;
    hint?: string;
    fault: string | undefined;
    value: string;
    onChange: (to: string) => void;
  }) => ReactNode;
}) {
  const [draft, setDraft] = useState(value);
  const [fault, setFault] = useState<string | undefined>(undefined);
  useEffect(() => {
    setDraft(value);
    setFault(undefined);
  }, [value]);
  const commit = () => {
    if (draft === value) return;
    const found = faultOf?.(draft);
    setFault(found);
    if (found === undefined) onCommit(draft, (error) => setFault(reasonOf(error)));
  };
  const type = (to: string) => {
    setDraft(to);
    setFault(undefined);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the events are those of the field in it
    <div
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target instanceof HTMLInputElement) commit();
      }}
    >
      {field({ ...shown, fault, value: draft, onChange: type })}
    </div>
  );
}
