import { Download, FileJson, Sheet } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { downloadBlob } from '@/lib/download';
import { toastError } from '@/lib/toast';
import { exportCalls } from './api';
import type { CallFilters } from './filters';

/** Exports the calls that are shown, as a file. */
export function ExportMenu({ filters, small = false }: { filters: CallFilters; small?: boolean }) {
  const [busy, setBusy] = useState(false);
  const start = async (format: 'jsonl' | 'csv') => {
    setBusy(true);
    try {
      downloadBlob(await exportCalls(filters, format), `drawbridge-calls.${format}`);
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Menu
      items={[
        { text: 'As JSON Lines', icon: FileJson, onSelect: () => start('jsonl') },
        { text: 'As CSV', icon: Sheet, onSelect: () => start('csv') },
      ]}
    >
      <Button look="quiet" small={small} disabled={busy}>
        <Download className={small ? 'size-3.5' : 'size-4'} aria-hidden />
        <span className={small ? undefined : 'max-sm:sr-only'}>
          {busy ? 'Exporting…' : 'Export'}
        </span>
      </Button>
    </Menu>
  );
}
