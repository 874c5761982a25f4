import { getRouteApi } from '@tanstack/react-router';
import { Boundary } from '@/components/page';
import { ImportPanel } from '@/features/clients/import-panel';
import { TakenImports } from '@/features/clients/undoable-imports';
import { AddPage } from '@/features/servers/add-server-page';

export function AddRoute() {
  const { like, name, config } = getRouteApi('/add').useSearch();
  return (
    <Boundary title="Add a server">
      <AddPage
        key={`${like} ${name} ${config}`}
        like={like}
        linked={config === undefined ? undefined : { name: name ?? 'server', entry: config }}
        importing={
          <>
            <ImportPanel />
            <TakenImports />
          </>
        }
      />
    </Boundary>
  );
}
