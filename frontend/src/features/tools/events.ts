import type { QueryClient } from '@tanstack/react-query';

/** Handles changed catalogs of servers; one request covers all changes, of which startups cause many. */
export function applyCatalogs(client: QueryClient): void {
  client.invalidateQueries({ queryKey: ['tools'] });
}
