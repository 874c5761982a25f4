import { useSuspenseQuery } from '@tanstack/react-query';
import { HardDriveDownload, LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { BrowseButtons } from '@/components/browse-buttons';
import { Button } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status-query';
import { useBackup } from './api';
import { backupName, folderOf, isAbsolute, joinPath } from './backup-path';

const words = {
  path: 'Backup file',
};

/** Writes a backup of the history to a path that is typed, or in a folder that is picked. */
export function Backup() {
  const { data: status } = useSuspenseQuery(statusQuery);
  const suggested = () =>
    isAbsolute(status.configPath)
      ? joinPath(joinPath(folderOf(status.configPath), 'backups'), backupName(new Date()))
      : '';
  const [path, setPath] = useState(suggested);
  const backup = useBackup();
  const sound = isAbsolute(path.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // The next backup needs a new name.
        if (sound && !backup.isPending)
          backup.mutate(path.trim(), {
            onSuccess: ({ path: written }) =>
              setPath(joinPath(folderOf(written), backupName(new Date()))),
          });
      }}
    >
      <h3 className="text-sm font-semibold">Backup</h3>
      <p className="mb-2 text-sm text-ink2">
        Saves a copy of the history to a new file. Recording continues.
      </p>
      <TextField
        label={words.path}
        value={path}
        maxLength={4096}
        fault={path !== '' && !sound ? 'Enter an absolute path.' : undefined}
        onChange={setPath}
        inputClassName="font-mono text-xs"
      />
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <BrowseButtons
          foldersOnly
          small={false}
          onPick={(folder) => setPath(joinPath(folder, backupName(new Date())))}
        />
        <Button type="submit" disabled={!sound || backup.isPending}>
          {backup.isPending ? (
            <LoaderCircle className="size-4 animate-spin" aria-hidden />
          ) : (
            <HardDriveDownload className="size-4" aria-hidden />
          )}
          Back up
        </Button>
      </div>
      {backup.isPending && <Progress />}
      <Failure error={backup.error} className="mt-2" />
      {backup.isSuccess && (
        <div role="status" className="mt-2 rounded-md bg-ok-soft p-3">
          <p className="mb-1.5 text-sm font-medium text-ok">Backup saved.</p>
          <CopyField text={escapeControlCharacters(backup.data.path)} label={words.path} />
        </div>
      )}
    </form>
  );
}

function Progress() {
  const now = useNow();
  const [began] = useState(now);
  return (
    <p role="status" className="mt-2 text-sm text-ink2">
      {`Backing up… ${Math.max(0, Math.round((now - began) / 1000))} s`}
    </p>
  );
}
