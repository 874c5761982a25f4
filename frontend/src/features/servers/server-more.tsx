import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CopyPlus, Ellipsis, Eye, PenLine, Tags, Trash2 } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { CopyButton } from '@/components/copy-button';
import { Menu } from '@/components/menu';
import { Modal } from '@/components/modal';
import { configQuery } from '@/lib/config';
import { plain } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { ServerStatus } from '@/types/api';
import { entryOf } from './add';
import { useRemoveServer } from './api';
import { maskSecrets } from './mask-secrets';

const t = texts.servers.more;

const RenameServer = lazy(async () => ({ default: (await import('./server-edit')).RenameServer }));
const TagServer = lazy(async () => ({ default: (await import('./server-edit')).TagServer }));

/** What is done with a server rarely: look at its entry, make another one like it, take it out. */
export function ServerMore({ server, onGone }: { server: ServerStatus; onGone: () => void }) {
  const [open, setOpen] = useState<'entry' | 'remove' | 'rename' | 'tags' | undefined>(undefined);
  const remove = useRemoveServer(server.id);
  const navigate = useNavigate();
  const label = server.label || server.id;
  const close = () => setOpen(undefined);
  return (
    <>
      <Menu
        items={[
          { text: t.entry, icon: Eye, onSelect: () => setOpen('entry') },
          {
            text: t.duplicate,
            icon: CopyPlus,
            onSelect: () => navigate({ to: '/add', search: { like: label } }),
          },
          { text: texts.servers.edit.rename, icon: PenLine, onSelect: () => setOpen('rename') },
          { text: texts.servers.edit.tags, icon: Tags, onSelect: () => setOpen('tags') },
          { text: t.remove, icon: Trash2, danger: true, onSelect: () => setOpen('remove') },
        ]}
      >
        <IconButton label={texts.actions.more(plain(label))}>
          <Ellipsis className="size-4" aria-hidden />
        </IconButton>
      </Menu>
      {open === 'entry' && <Entry label={label} onClose={close} />}
      <Suspense fallback={null}>
        {open === 'rename' && <RenameServer server={server} onClose={close} />}
        {open === 'tags' && <TagServer server={server} onClose={close} />}
      </Suspense>
      {open === 'remove' && (
        <Confirm
          title={t.removeTitle(plain(label.slice(0, 200)))}
          action={t.remove}
          pending={remove.isPending}
          error={remove.error}
          onClose={close}
          onConfirm={() =>
            remove.mutate(undefined, {
              onSuccess: () => {
                toast('ok', t.removed(plain(label)));
                onGone();
              },
            })
          }
        >
          {t.removeBody}
        </Confirm>
      )}
    </>
  );
}

/** Without what its lines are further in than its last one, which closes it. */
function outdent(entry: string): string {
  const [before = ''] = /[ \t]*(?=\S*$)/.exec(entry) ?? [];
  return before === '' ? entry : entry.replaceAll(`\n${before}`, '\n');
}

/** The entry as it stands in the file; values that look secret stay masked until somebody wants to see them. */
function Entry({ label, onClose }: { label: string; onClose: () => void }) {
  const { data: config } = useQuery(configQuery);
  const [shown, setShown] = useState(false);
  const entry = config && entryOf(config.text, label);
  const hidden = entry === undefined ? undefined : maskSecrets(entry);
  return (
    <Modal label={t.entry} onClose={onClose} className="max-w-2xl">
      <div className="scroll-area space-y-3 p-5">
        <h2 className="text-lg font-semibold [overflow-wrap:anywhere]">{plain(label)}</h2>
        {entry === undefined ? (
          <p className="text-ink2">{config ? t.elsewhere : texts.loading}</p>
        ) : (
          <pre className="scroll-area max-h-[50vh] rounded-md border bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
            {plain(outdent(shown ? entry : (hidden ?? '')))}
          </pre>
        )}
        <div className="flex items-center gap-2">
          {entry !== undefined && (
            <>
              {hidden !== entry && (
                <Button aria-pressed={shown} onClick={() => setShown((on) => !on)}>
                  {shown ? t.mask : t.reveal}
                </Button>
              )}
              <CopyButton showLabel text={entry} />
            </>
          )}
          <Button data-first className="ml-auto" onClick={onClose}>
            {texts.actions.close}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
