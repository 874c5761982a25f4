import { useQuery } from '@tanstack/react-query';
import { FileArchive, LoaderCircle } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { CommandWords } from '@/components/command-words';
import { Facts, Section } from '@/components/fields';
import { joined } from '@/components/more';
import { DetailFrame } from '@/components/split-view';
import { classes } from '@/lib/class-names';
import { bytes, escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { messageOf, request } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { About, Installation } from '@/types/api';
import { bundleFileError, deleteUpload, sendFile } from './bundle-upload';
import { InstallForm } from './install-form';
import { Note } from './note';

const bundleTexts = withoutPrototypes({
  kinds: {
    node: 'Node program, run by node',
    python: 'Python program, run by python',
    uv: 'Python program, run by uv',
    binary: 'Program for this system',
  } as Record<string, string>,
} as const);

const b = bundleTexts;

type Sending =
  | { state: 'none' }
  | { state: 'sending'; name: string; share: number }
  | { state: 'failed'; name: string; why: string }
  | { state: 'there'; name: string; id: string };

/** A bundle from a file: uploaded, inspected, and unpacked only when the user installs it. */
export function BundlePanel({
  taken,
  installed,
  onClose,
}: {
  taken: (label: string) => boolean;
  installed: (id: string) => ReactNode;
  onClose: () => void;
}) {
  const [sending, setSending] = useState<Sending>({ state: 'none' });
  const [done, setDone] = useState(false);
  const abort = useRef<AbortController>(undefined);
  const kept = useRef<string>(undefined); // the ID of the upload that the daemon holds
  const drop = useCallback(() => {
    abort.current?.abort();
    if (kept.current) deleteUpload(kept.current);
    kept.current = undefined;
  }, []);
  useEffect(() => drop, [drop]);
  const send = async (file: File) => {
    drop();
    setDone(false);
    const { name } = file;
    const why = bundleFileError(file);
    if (why) return setSending({ state: 'failed', name, why });
    const controller = new AbortController();
    abort.current = controller;
    setSending({ state: 'sending', name, share: 0 });
    try {
      const id = await sendFile(file, controller.signal, (share) =>
        setSending({ state: 'sending', name, share }),
      );
      if (controller.signal.aborted) return deleteUpload(id);
      kept.current = id;
      setSending({ state: 'there', name, id });
    } catch (error) {
      if (!controller.signal.aborted) setSending({ state: 'failed', name, why: messageOf(error) });
    }
  };
  return (
    <DetailFrame
      id="bundle"
      title="Install from file"
      meta="A .mcpb bundle contains a server with all its files. Nothing is unpacked or run before you install it."
      onClose={onClose}
    >
      {!done && (
        <Section title="Choose file">
          <FileDrop onFile={send} busy={sending.state === 'sending'} />
          {sending.state === 'sending' && (
            <div className="mt-3 flex items-center gap-3 text-sm text-ink2">
              <LoaderCircle className="size-4 animate-spin" aria-hidden />
              <span role="status" className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                {`Uploading ${escapeControlCharacters(sending.name.slice(0, 100))}: ${Math.round(sending.share * 100)}%`}
              </span>
              <Button
                small
                onClick={() => {
                  drop();
                  setSending({ state: 'none' });
                }}
              >
                {texts.actions.cancel}
              </Button>
            </div>
          )}
          {sending.state === 'failed' && (
            <div className="mt-3">
              <Note tone="bad" role="alert">
                <strong>{escapeControlCharacters(sending.name.slice(0, 100))}</strong>:{' '}
                {escapeControlCharacters(sending.why)}
              </Note>
            </div>
          )}
        </Section>
      )}
      {sending.state === 'there' && (
        <Manifest
          key={sending.id}
          name={sending.name}
          upload={sending.id}
          done={done}
          taken={taken}
          installed={installed}
          onInstalled={() => {
            kept.current = undefined;
            setDone(true);
          }}
        />
      )}
    </DetailFrame>
  );
}

function FileDrop({ onFile, busy }: { onFile: (file: File) => void; busy: boolean }) {
  const [over, setOver] = useState(false);
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: drag and drop is optional; the input is accessible
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file && !busy) onFile(file);
      }}
      className={classes(
        'flex flex-col items-center gap-3 rounded-lg border border-dashed px-4 py-8 text-center',
        over ? 'border-accent bg-accent-soft' : 'border-strong',
      )}
    >
      <FileArchive className="size-6 text-ink3" aria-hidden />
      <p className="text-sm text-ink2">Drop a .mcpb file here, or choose one.</p>
      <label htmlFor={id} className="sr-only">
        Bundle
      </label>
      <input
        ref={input}
        id={id}
        type="file"
        accept=".mcpb,.dxt"
        disabled={busy}
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) onFile(file);
          event.target.value = ''; // so that the same file can be selected again
        }}
        className="field-sizing-content max-w-full text-sm text-ink2 file:mr-3 file:h-8 file:rounded-md file:border file:border-strong file:bg-panel file:px-3 file:font-medium file:text-ink"
      />
    </div>
  );
}

/** The manifest of the bundle, and its form. The bundle is not unpacked yet. */
function Manifest({
  name,
  upload,
  done,
  taken,
  installed,
  onInstalled,
}: {
  name: string;
  upload: string;
  done: boolean;
  taken: (label: string) => boolean;
  installed: (id: string) => ReactNode;
  onInstalled: () => void;
}) {
  const { data, error } = useQuery({
    queryKey: ['bundle', upload],
    queryFn: ({ signal }) =>
      request<Installation>('POST', '/api/v1/directory/plan', { body: { upload }, signal }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (error)
    return (
      <Section title="File rejected">
        <Note tone="bad" role="alert">
          <strong>{escapeControlCharacters(name.slice(0, 100))}</strong>:{' '}
          {escapeControlCharacters(messageOf(error))}
        </Note>
        <p className="mt-2 text-sm text-ink2">
          Nothing was unpacked. The uploaded file was deleted.
        </p>
      </Section>
    );
  if (!data?.bundle) return <p className="p-5 text-sm text-ink3">{texts.loading}</p>;
  return (
    <>
      {!done && <Claims about={data.bundle} />}
      <InstallForm
        order={{ upload }}
        label={data.bundle.name}
        fields={data.fields}
        taken={taken}
        installed={installed}
        onInstalled={onInstalled}
      />
    </>
  );
}

function Claims({ about }: { about: About }) {
  return (
    <Section title={escapeControlCharacters((about.title || about.name).slice(0, 200))}>
      <p className="mb-3 text-sm text-ink2 [overflow-wrap:anywhere]">
        {escapeControlCharacters(about.description.slice(0, 2000))}
      </p>
      <Facts
        rows={[
          ['Publisher', escapeControlCharacters((about.author || 'not specified').slice(0, 200))],
          ['Version', escapeControlCharacters(about.version)],
          ['Type', b.kinds[about.type] ?? escapeControlCharacters(about.type)],
          [
            'Contents',
            `${about.files === 1 ? '1 file' : `${about.files} files`}, ${bytes(about.bytes)}`,
          ],
          ['Unpacked into', <code key="f">{escapeControlCharacters(about.folder)}</code>],
          ['SHA-256', <code key="h">{escapeControlCharacters(about.sha256)}…</code>],
          [
            'Environment variables',
            about.variables.length > 0 && escapeControlCharacters(joined(about.variables, 50)),
          ],
        ]}
      />
      <div className="mt-3 space-y-3">
        <CommandWords limited words={about.command} label="Command" />
        <Note tone="warn">
          This information comes from the file and is not verified. The server runs with your
          permissions: it can read and change all your files.
        </Note>
      </div>
    </Section>
  );
}
