import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { LoaderCircle } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Modal } from '@/components/modal';
import { TextField } from '@/components/text-field';
import { configQuery } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { setValue } from '@/lib/jsonc';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { RenamedServer, ServerStatus } from '@/types/api';
import { entryPath, useSaveEntry } from './review-and-add-server';

const t = texts.servers.edit;

/** Renames a server in the file, in the history and in the trust baseline. */
export function RenameServer({ server, onClose }: { server: ServerStatus; onClose: () => void }) {
  const label = server.label || server.id;
  const [name, setName] = useState(label);
  const client = useQueryClient();
  const navigate = useNavigate();
  const rename = useMutation({
    mutationFn: () =>
      request<RenamedServer>('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/rename`, {
        body: { name: name.trim() },
      }),
    onSuccess: (renamed) => {
      for (const key of ['servers', 'config', 'tools', 'calls', 'usage'])
        client.invalidateQueries({ queryKey: [key] });
      toast('ok', t.renamed(escapeControlCharacters(renamed.label || renamed.id)));
      for (const warning of renamed.renameWarnings) toast('bad', escapeControlCharacters(warning));
      onClose();
      navigate({ to: '/servers/$id', params: { id: renamed.id } });
    },
  });
  return (
    <Edit
      title={t.renameTitle(escapeControlCharacters(label.slice(0, 200)))}
      body={t.renameBody}
      action={t.rename}
      ready={name.trim() !== '' && name.trim() !== label}
      pending={rename.isPending}
      error={rename.error}
      onSubmit={() => rename.mutate()}
      onClose={onClose}
    >
      <TextField labelHidden label={texts.add.name} value={name} onChange={setName} />
    </Edit>
  );
}

/** Edits the tags of a server, which are stored in its entry. */
export function TagServer({ server, onClose }: { server: ServerStatus; onClose: () => void }) {
  const label = server.label || server.id;
  const before = (server.tags ?? []).join(', ');
  const [text, setText] = useState(before);
  const { data: config } = useQuery(configQuery);
  const path = config && entryPath(config.text, label);
  const tags = [...new Set(text.split(',').map((tag) => tag.trim()))].filter(Boolean).slice(0, 20);
  const save = useSaveEntry(label, t.tagged(escapeControlCharacters(label)));
  return (
    <Edit
      title={t.tagTitle(escapeControlCharacters(label.slice(0, 200)))}
      body={config && !path ? texts.servers.more.elsewhere : t.tagBody}
      action={texts.settings.save}
      ready={path !== undefined && tags.join(', ') !== before}
      pending={save.isPending}
      error={save.error}
      onSubmit={() =>
        save.mutate((entry) => setValue(entry, ['tags'], JSON.stringify(tags)), {
          onSuccess: onClose,
        })
      }
      onClose={onClose}
    >
      <TextField
        labelHidden
        label={t.tags}
        value={text}
        disabled={config !== undefined && !path}
        placeholder={t.tagExample}
        onChange={setText}
      />
    </Edit>
  );
}

/** A dialog with one field. */
export function Edit({
  title,
  body,
  action,
  ready,
  pending,
  error,
  onSubmit,
  onClose,
  children,
}: {
  title: string;
  body: string;
  action: string;
  ready: boolean;
  pending: boolean;
  error: Error | null;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Modal label={title} onClose={onClose} className="max-w-md">
      <form
        className="space-y-3 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !pending) onSubmit();
        }}
      >
        <h2 className="text-lg font-semibold [overflow-wrap:anywhere]">{title}</h2>
        <p className="text-sm text-ink2">{body}</p>
        {children}
        <Failure error={error} />
        <div className="flex justify-end gap-2 pt-2">
          <Button onClick={onClose}>{texts.actions.cancel}</Button>
          <Button type="submit" look="primary" disabled={!ready || pending}>
            {pending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
