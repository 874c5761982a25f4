import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { FormDialog } from '@/components/form-dialog';
import { Modal } from '@/components/modal';
import { TextField } from '@/components/text-field';
import { setEdit, textEdit } from '@/lib/config-edits';
import { escapeControlCharacters } from '@/lib/format';
import { ownValue, withoutPrototypes } from '@/lib/own-property';
import { secretName, useSecret } from '@/lib/secrets';
import { texts } from '@/lib/texts';
import type { Edit, Remedy, ServerStatus } from '@/types/api';
import { useServerAction } from './api';
import { inEntry, useSaveEdits } from './review-and-add-server';

const titlesTexts = withoutPrototypes({
  'install-program': (product: string) => `${product} is not installed`,
  'install-package': (name: string) => `The package ${name} is not installed`,
  'start-docker': () => 'Docker is not running',
  'allow-docker': () => 'Your user account is not allowed to use Docker',
  'start-container': (name: string) => `The container ${name} is not running`,
  'unlock-secrets': () => 'The keyring that stores the secrets is locked',
} as const);

const howTexts = withoutPrototypes({
  'install-package': 'Run this command in a terminal, in the server’s folder:',
  'allow-docker': 'Run this command in a terminal, then log out and log back in:',
} as const);

/** Replaces references to the variable with the secret, or else adds it to the environment. */
export function withSecret(entry: string, variable: string, secret: string): Edit[] {
  const reference = `\${secret:${secret}}`;
  const replaced = entry
    .replaceAll(`\${${variable}}`, reference)
    .replaceAll(`\${env:${variable}}`, reference);
  return [replaced === entry ? setEdit(['env', variable], reference) : textEdit([], replaced)];
}

/** Stores the missing value of a server as a secret, and adds a reference to its entry. */
export function SetKey({
  server,
  name,
  isSecret,
  onClose,
}: {
  server: ServerStatus;
  name: string;
  /** Whether the entry already refers to a secret of this name. */
  isSecret: boolean;
  onClose: () => void;
}) {
  const label = server.label || server.id;
  const [value, setText] = useState('');
  const secret = isSecret ? name : secretName(server.id, name);
  const store = useSecret();
  const refer = useSaveEdits(`${name} set for ${escapeControlCharacters(label)}.`);
  const restart = useServerAction(server);
  const save = useMutation({
    mutationFn: async () => {
      await store.mutateAsync({ name: secret, value: value.trim() });
      if (isSecret) await restart.mutateAsync('restart');
      else await refer.mutateAsync(inEntry(label, (entry) => withSecret(entry, name, secret)));
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog
      label={texts.servers.remedy.setKey(name)}
      title={`Set ${name} for ${escapeControlCharacters(label.slice(0, 100))}`}
      action="Store and restart"
      ready={value.trim() !== ''}
      pending={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <p className="text-sm text-ink2 [overflow-wrap:anywhere]">
        {isSecret
          ? `The value is stored as the secret ${secret}, which the configuration refers to. The server will restart.`
          : `The value is stored encrypted as the secret ${secret}. The configuration refers to it and never contains the value.`}
      </p>
      <TextField
        label="Value"
        data-first
        type="password"
        autoComplete="new-password"
        value={value}
        onChange={setText}
      />
    </FormDialog>
  );
}

/** A command to run in a terminal; Drawbridge never runs it. */
export function InTerminal({
  server,
  remedy: { kind, name = '', command, url },
  action,
  onClose,
}: {
  server: ServerStatus;
  remedy: Remedy;
  action: string;
  onClose: () => void;
}) {
  const restart = useServerAction(server);
  const title =
    ownValue(titlesTexts, kind)?.(escapeControlCharacters(name)) ?? escapeControlCharacters(action);
  return (
    <Modal label={action} onClose={onClose} className="max-w-lg">
      <div className="space-y-3 p-5">
        <h2 className="text-lg font-semibold [overflow-wrap:anywhere]">{title}</h2>
        <p className="text-sm text-ink2 [overflow-wrap:anywhere]">
          {`${escapeControlCharacters((server.label || server.id).slice(0, 100))} cannot start until this is fixed.`}
        </p>
        {!command && (
          <p className="text-sm text-ink2">{escapeControlCharacters(server.hint ?? '')}</p>
        )}
        {command && (
          <>
            <p className="text-sm text-ink2">
              {ownValue(howTexts, kind) ?? 'Run this command in a terminal:'}
            </p>
            <CopyField text={escapeControlCharacters(command)} label="Command" />
          </>
        )}
        {url?.startsWith('https://') && (
          <p className="text-sm text-ink2">
            Documentation:{' '}
            <a
              className="text-accent underline underline-offset-2 [overflow-wrap:anywhere]"
              href={url}
              target="_blank"
              rel="noopener noreferrer"
            >
              {escapeControlCharacters(url)}
            </a>
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{texts.actions.close}</Button>
          <Button
            data-first
            look="primary"
            disabled={restart.isPending}
            onClick={() => restart.mutate('restart', { onSuccess: onClose })}
          >
            Restart server
          </Button>
        </div>
      </div>
    </Modal>
  );
}
