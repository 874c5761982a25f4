import { Bookmark, Columns3, RotateCcw, Save, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { FormDialog } from '@/components/form-dialog';
import { Menu, type MenuItem } from '@/components/menu';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import { type Columns, columnIds, resetColumns, type Sort } from './call-columns';
import type { CallFilters } from './filters';
import { type SavedView, useViews } from './saved-views';

const words = {
  saved: 'Saved views',
};

/** The saved views, and the columns to show. */
export function ViewMenu({
  current,
  onColumns,
  onOpen,
}: {
  current: { filters: CallFilters; sort: Sort | undefined; columns: Columns };
  onColumns: (columns: Columns) => void;
  onOpen: (view: SavedView) => void;
}) {
  const { views } = useViews();
  const [managing, setManaging] = useState(false);
  const { columns } = current;
  const column = (id: (typeof columnIds)[number]): MenuItem => ({
    text: texts.calls.columns[id],
    checked: columns.shown.includes(id),
    disabled: id === 'call',
    onSelect: () =>
      onColumns({
        ...columns,
        shown: columnIds.filter((one) => columns.shown.includes(one) !== (one === id)),
      }),
  });
  return (
    <>
      <Menu
        items={[
          { heading: words.saved },
          ...views.map((view) => ({
            text: escapeControlCharacters(view.name),
            icon: Bookmark,
            onSelect: () => onOpen(view),
          })),
          { text: 'Save or remove a view…', icon: Save, onSelect: () => setManaging(true) },
          { heading: 'Columns' },
          ...columnIds.map(column),
          { text: 'Reset columns', icon: RotateCcw, onSelect: () => onColumns(resetColumns) },
        ]}
      >
        <Button look="quiet">
          <Columns3 className="size-4" aria-hidden />
          <span className="max-sm:sr-only">View</span>
        </Button>
      </Menu>
      {managing && <SaveDialog current={current} onClose={() => setManaging(false)} />}
    </>
  );
}

function SaveDialog({
  current,
  onClose,
}: {
  current: Omit<SavedView, 'name'>;
  onClose: () => void;
}) {
  const { views, full, save, remove, restore } = useViews();
  const [name, setName] = useState('');
  const wanted = name.trim();
  const replaces = views.some((view) => view.name === wanted);
  return (
    <FormDialog
      title="Save this view"
      action="Save view"
      ready={wanted !== '' && (!full || replaces)}
      onSubmit={() => {
        save({ ...current, name: wanted });
        toast('ok', `Saved view “${wanted}”.`);
        onClose();
      }}
      onClose={onClose}
    >
      <TextField
        label="Name"
        data-first
        value={name}
        maxLength={60}
        hint={
          <span role="status">
            {replaces
              ? 'A view with this name exists. Saving replaces it.'
              : full
                ? 'You can save up to 30 views. Remove one first.'
                : 'Filters, order and columns, kept in this browser.'}
          </span>
        }
        onChange={setName}
      />
      {views.length > 0 && (
        <ul aria-label={words.saved} className="rounded-lg border">
          {views.map((view) => (
            <li
              key={view.name}
              className="flex items-center gap-2 border-t py-1 pr-1 pl-3 text-sm first:border-t-0"
            >
              <span className="min-w-0 flex-1 truncate">{escapeControlCharacters(view.name)}</span>
              <IconButton
                label={`Remove the view ${escapeControlCharacters(view.name)}`}
                onClick={() => {
                  remove(view.name);
                  toast('ok', `Removed view “${view.name}”.`, {
                    text: texts.care.undo,
                    run: () => restore(views),
                  });
                }}
              >
                <Trash2 className="size-4" aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  );
}
