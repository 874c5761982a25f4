import { ChartGantt, Download, FileJson, Sheet } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { downloadBlob } from '@/lib/download';
import { texts } from '@/lib/texts';
import { toastError } from '@/lib/toast';
import { exportCalls } from './api';
import type { CallFilters } from './filters';

const t = texts.calls;

/** Exports the calls that are shown, as a file. */
export function ExportMenu({ filters, small = false }: { filters: CallFilters; small?: boolean }) {
  const [busy, setBusy] = useState(false);
  const start = async (format: 'jsonl' | 'csv' | 'har') => {
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
        { text: t.exportJsonl, icon: FileJson, onSelect: () => start('jsonl') },
        { text: t.exportCsv, icon: Sheet, onSelect: () => start('csv') },
        { text: t.exportHar, icon: ChartGantt, onSelect: () => start('har') },
      ]}
    >
      <Button look="quiet" small={small} disabled={busy}>
        <Download className={small ? 'size-3.5' : 'size-4'} aria-hidden />
        <span className={small ? undefined : 'max-sm:sr-only'}>
          {busy ? t.exporting : t.export}
        </span>
      </Button>
    </Menu>
  );
}
