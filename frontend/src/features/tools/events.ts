import type { QueryClient } from '@tanstack/react-query';

/** A server's catalog changed. Many may change at once while servers start; one read answers them all. */
export function applyCatalogs(client: QueryClient): void {
  client.invalidateQueries({ queryKey: ['tools'] });
}
