import { useNavigate } from '@tanstack/react-router';
import {
  CircleDot,
  CopyPlus,
  Ellipsis,
  PenLine,
  Rewind,
  Stethoscope,
  Tags,
  Trash2,
} from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { IconButton } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { Menu } from '@/components/menu';
import { escapeControlCharacters } from '@/lib/format';
import { lazyChunk } from '@/lib/lazy-chunk';
import { useRecordFull, withFullRecording } from '@/lib/record-full';
import { toast } from '@/lib/toast';
import type { ServerStatus } from '@/types/api';
import { useRemoveServer } from './api';
import { moreActions } from './start-stop-buttons';

const words = {
  remove: 'Remove',
};

const loadDialogs = lazyChunk(() => import('./rename-and-tag-server'));
const loadServe = lazyChunk(() => import('./add-replay-server'));
const RenameServer = lazy(async () => ({ default: (await loadDialogs()).RenameServer }));
const TagServer = lazy(async () => ({ default: (await loadDialogs()).TagServer }));
const AddReplayServer = lazy(async () => ({ default: (await loadServe()).AddReplayServer }));

/** The menu of rare actions: rename, duplicate or remove the server, and others. */
export function ServerMoreMenu({
  server,
  onDiagnostics,
  onGone,
}: {
  server: ServerStatus;
  onDiagnostics: () => void;
  onGone: () => void;
}) {
  const [open, setOpen] = useState<'remove' | 'rename' | 'serve' | 'tags' | undefined>(undefined);
  const remove = useRemoveServer(server.id);
  const navigate = useNavigate();
  const record = useRecordFull();
  const label = server.label || server.id;
  const close = () => setOpen(undefined);
  return (
    <>
      <Menu
        items={[
          {
            text: 'Duplicate',
            icon: CopyPlus,
            onSelect: () => navigate({ to: '/add', search: { like: label } }),
          },
          { text: 'Rename', icon: PenLine, onSelect: () => setOpen('rename') },
          { text: 'Tags', icon: Tags, onSelect: () => setOpen('tags') },
          { text: 'Diagnostics', icon: Stethoscope, onSelect: onDiagnostics },
          {
            text: 'Record in full for an hour',
            icon: CircleDot,
            onSelect: () => record.mutate(withFullRecording({ server: server.id }, 60)),
          },
          ...(server.transport === 'replay'
            ? []
            : [
                {
                  text: 'Serve recorded session…',
                  icon: Rewind,
                  onSelect: () => setOpen('serve'),
                },
              ]),
          { text: words.remove, icon: Trash2, danger: true, onSelect: () => setOpen('remove') },
        ]}
      >
        <IconButton label={moreActions(escapeControlCharacters(label))}>
          <Ellipsis className="size-4" aria-hidden />
        </IconButton>
      </Menu>
      <Suspense fallback={null}>
        {open === 'rename' && <RenameServer server={server} onClose={close} />}
        {open === 'serve' && <AddReplayServer recorded={[server.id]} onClose={close} />}
        {open === 'tags' && <TagServer server={server} onClose={close} />}
      </Suspense>
      {open === 'remove' && (
        <Confirm
          title={`Remove ${escapeControlCharacters(label.slice(0, 200))}?`}
          action={words.remove}
          of={remove}
          onClose={close}
          onConfirm={() =>
            remove.mutate(undefined, {
              onSuccess: () => {
                toast('ok', `${escapeControlCharacters(label)} removed.`);
                onGone();
              },
            })
          }
        >
          The server will be stopped and removed from the configuration file. Its calls will stay in
          the history.
        </Confirm>
      )}
    </>
  );
}
