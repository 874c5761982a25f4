import { queryOptions } from '@tanstack/react-query';
import { request } from '@/lib/request';
import type { Profiles } from '@/types/api';

/** All profiles, the settings of clients, and who chooses which account of a server. */
export const profilesQuery = queryOptions({
  queryKey: ['profiles'],
  queryFn: ({ signal }) => request<Profiles>('GET', '/api/v1/profiles', { signal }),
  staleTime: 5000, // a config event invalidates it immediately
  refetchInterval: 15_000, // the cost changes with the catalogs
});
