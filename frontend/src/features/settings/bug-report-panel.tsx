import { queryOptions, useQuery } from '@tanstack/react-query';
import { FileArchive } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { downloadBlob } from '@/lib/download';
import { escapeControlCharacters } from '@/lib/format';
import { requestList, send } from '@/lib/request';
import { toastError } from '@/lib/toast';
import type { File } from '@/types/api';

const diagnosticsQuery = queryOptions({
  queryKey: ['diagnostics'],
  queryFn: ({ signal }) => requestList<File>('/api/v1/diagnostics', signal),
});

/** Shows the files of a bug report before they are saved as one zip file. */
export function BugReportPanel() {
  const found = useQuery({ ...diagnosticsQuery, enabled: false });
  const [open, setOpen] = useState<string>();
  const files = found.data;
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink2">
        Saves versions, states, diagnostics, recent logs and the configuration (secrets redacted) in
        one file. No calls are included, and nothing is sent. To do this in a terminal, run:{' '}
        <code className="font-mono text-xs whitespace-nowrap">drawbridge doctor --report</code>
      </p>
      <div className="flex flex-wrap gap-2">
        <Button disabled={found.isFetching} onClick={() => found.refetch()}>
          <FileArchive className="size-4" aria-hidden />
          {found.isFetching ? 'Collecting…' : 'Preview'}
        </Button>
        {files && <Button onClick={() => void save()}>Save as ZIP</Button>}
      </div>
      <Failure error={found.error} />
      {files && (
        <ul
          className="overflow-hidden rounded-md border text-sm"
          aria-label="Files in the bug report"
        >
          {files.map((file) => (
            <li key={file.name} className="border-t first:border-t-0">
              <button
                type="button"
                aria-expanded={open === file.name}
                className="flex min-h-9 w-full items-center justify-between gap-3 px-3 py-1.5 text-left hover:bg-hover"
                onClick={() => setOpen(open === file.name ? undefined : file.name)}
              >
                <span className="min-w-0 [overflow-wrap:anywhere]">
                  {escapeControlCharacters(file.name)}
                </span>
                <span className="shrink-0 text-xs text-ink3">
                  {file.bytes < 1000 ? `${file.bytes} B` : `${(file.bytes / 1000).toFixed(1)} kB`}
                </span>
              </button>
              {open === file.name && (
                <pre
                  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable text must be focusable
                  tabIndex={0}
                  className="max-h-72 overflow-auto border-t bg-sunken px-3 py-2 font-mono text-xs"
                >
                  {escapeControlCharacters(file.text)}
                </pre>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

async function save(): Promise<void> {
  try {
    const reply = await send('/api/v1/diagnostics/zip', { headers: {} });
    downloadBlob(await reply.blob(), 'drawbridge-diagnostics.zip');
  } catch (error) {
    toastError(error);
  }
}
