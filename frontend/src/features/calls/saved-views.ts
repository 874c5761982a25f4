import { useStored } from '@/lib/stored-preference';
import { type Columns, checkColumns, type Sort, sorts } from './call-columns';
import { type CallFilters, callFilters } from './filters';

const most = 30;

/** Filters, a sort order and columns, saved under a name. */
export interface SavedView {
  name: string;
  filters: CallFilters;
  sort?: Sort | undefined;
  columns: Columns;
}

export function checkViews(value: unknown): SavedView[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((one) => typeof one?.name === 'string' && one.name !== '')
    .slice(0, most)
    .map((one) => ({
      name: one.name.slice(0, 60),
      filters: callFilters(Object(one.filters)),
      sort: sorts.find((sort) => sort === one.sort),
      columns: checkColumns(one.columns),
    }));
}

/** The saved views of this browser; saving replaces the view with the same name. */
export function useViews() {
  const [views, set] = useStored('drawbridge.calls.views', checkViews);
  return {
    views,
    full: views.length >= most,
    save: (view: SavedView) =>
      set(
        [...views.filter(({ name }) => name !== view.name), view].sort((a, b) =>
          a.name.localeCompare(b.name),
        ),
      ),
    remove: (name: string) => set(views.filter((one) => one.name !== name)),
    restore: set,
  };
}
