import { Columns3, RotateCcw } from 'lucide-react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { type ColumnId, columnIds, columnNames, resetColumns } from './call-columns';

/** The columns to show. */
export function ColumnMenu({
  columns,
  onChange,
}: {
  columns: ColumnId[];
  onChange: (columns: ColumnId[]) => void;
}) {
  return (
    <Menu
      items={[
        ...columnIds.map((id) => ({
          text: columnNames[id],
          checked: columns.includes(id),
          disabled: id === 'call',
          onSelect: () =>
            onChange(columnIds.filter((one) => columns.includes(one) !== (one === id))),
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
