import { Columns3, RotateCcw } from 'lucide-react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { texts } from '@/lib/texts';
import { type Columns, columnIds, resetColumns } from './call-columns';

/** The columns to show. */
export function ColumnMenu({
  columns,
  onChange,
}: {
  columns: Columns;
  onChange: (columns: Columns) => void;
}) {
  return (
    <Menu
      items={[
        ...columnIds.map((id) => ({
          text: texts.calls.columns[id],
          checked: columns.shown.includes(id),
          disabled: id === 'call',
          onSelect: () =>
            onChange({
              ...columns,
              shown: columnIds.filter((one) => columns.shown.includes(one) !== (one === id)),
            }),
        })),
        { text: 'Reset columns', icon: RotateCcw, onSelect: () => onChange(resetColumns) },
      ]}
    >
      <Button look="quiet">
        <Columns3 className="size-4" aria-hidden />
        <span className="max-sm:sr-only">Columns</span>
      </Button>
    </Menu>
  );
}
