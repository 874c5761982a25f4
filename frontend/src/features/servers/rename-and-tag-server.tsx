import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '@/components/form-dialog';
import { TextField } from '@/components/text-field';
import { setEdit } from '@/lib/config-edits';
import { configQuery, unusable } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { RenamedServer, ServerStatus } from '@/types/api';
import { definedElsewhere, entryPath, inEntry, useSaveEdits } from './review-and-add-server';

/** Renames a server in the file, in the history and in the trust baseline. */
export function RenameServer({ server, onClose }: { server: ServerStatus; onClose: () => void }) {
  const label = server.label || server.id;
  const [name, setName] = useState(label);
  const typed = name.trim();
  const client = useQueryClient();
  const navigate = useNavigate();
  const rename = useMutation({
    mutationFn: () =>
      request<RenamedServer>('POST', `/api/v1/servers/${encodeURIComponent(server.id)}/rename`, {
        body: { name: typed },
      }),
    onSuccess: (renamed) => {
      for (const key of ['servers', 'config', 'tools', 'calls', 'usage'])
        client.invalidateQueries({ queryKey: [key] });
      toast('ok', `Renamed to ${escapeControlCharacters(renamed.label || renamed.id)}.`);
      for (const warning of renamed.renameWarnings) toast('bad', escapeControlCharacters(warning));
      onClose();
      navigate({ to: '/servers/$id', params: { id: renamed.id } });
    },
  });
  return (
    <FormDialog
      title={`Rename ${escapeControlCharacters(label.slice(0, 200))}`}
      action="Rename"
      ready={typed !== '' && typed !== label}
      pending={rename.isPending}
      error={rename.error}
      onSubmit={() => rename.mutate()}
      onClose={onClose}
    >
      <p className="text-sm text-ink2">Its call history and trusted tools are kept.</p>
      <TextField labelHidden label="Name" value={name} onChange={setName} />
    </FormDialog>
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
  const save = useSaveEdits(`Tags for ${escapeControlCharacters(label)} saved.`);
  return (
    <FormDialog
      title={`Tags for ${escapeControlCharacters(label.slice(0, 200))}`}
      action={texts.settings.save}
      ready={path !== undefined && tags.join(', ') !== before}
      pending={save.isPending}
      error={save.error}
      onSubmit={() =>
        save.mutate(
          inEntry(label, () => [setEdit(['tags'], tags)]),
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
    >
      <p className="text-sm text-ink2">
        {config && !path
          ? (unusable(config) ?? definedElsewhere)
          : 'Separate tags with commas. They are saved in the configuration file.'}
      </p>
      <TextField
        labelHidden
        label="Tags"
        value={text}
        disabled={config !== undefined && !path}
        placeholder="work, slow"
        onChange={setText}
      />
    </FormDialog>
  );
}
