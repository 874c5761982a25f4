import { useQuery } from '@tanstack/react-query';
import { Download, ExternalLink } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClasses } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { Loading } from '@/components/page';
import { CheckBox } from '@/components/text-field';
import { downloadBlob } from '@/lib/download';
import { escapeControlCharacters } from '@/lib/format';
import { send } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { Connection } from '@/types/api';
import { bundleUrl, handoutQuery } from './api';

/** Link schemes of clients that ask for confirmation. No other link is clickable. */
const known =
  /^(vscode|vscode-insiders|vsweb\+mcp|raycast|cursor|lmstudio|cherrystudio|goose|kiro):/;

export const httpInstead = 'Use HTTP instead of a command';

/** How to connect a client without changing its file: an entry to copy, a link or an extension. */
export function ManualSetup({ connection }: { connection: Connection }) {
  const [http, setHttp] = useState(false);
  const { data, error, isPending } = useQuery(handoutQuery(connection.key, http));
  if (isPending) return <Loading />;
  if (error) return <Failure error={error} className="mt-3" />;
  const steps = data.steps ?? [];
  return (
    <div className="mt-3 space-y-3 border-t pt-3 text-sm">
      {steps.length > 1 && <p className="text-ink2">Use one of these:</p>}
      <ul className="list-disc space-y-0.5 pl-5 text-ink2">
        {steps.map((step) => (
          <li key={step} className="[overflow-wrap:anywhere]">
            {escapeControlCharacters(step)}
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-2">
        {known.test(data.link) && (
          <a href={data.link} className={buttonClasses('primary')}>
            <ExternalLink className="size-4" aria-hidden />
            {`Open in ${escapeControlCharacters(connection.name)}`}
          </a>
        )}
        {data.bundle && (
          <Button onClick={() => void download(connection.key, data.bundle)}>
            <Download className="size-4" aria-hidden />
            Download extension
          </Button>
        )}
        {connection.supportsHttp && (
          <CheckBox label={httpInstead} checked={http} onChange={setHttp} />
        )}
      </div>
      {data.path && <CopyField titled text={data.path} label="Configuration file" />}
      <CopyField titled text={data.text} label="Configuration entry" />
    </div>
  );
}

async function download(key: string, name: string): Promise<void> {
  try {
    const reply = await send(bundleUrl(key), { headers: {} });
    downloadBlob(await reply.blob(), name);
  } catch (error) {
    toastError(error);
  }
}
