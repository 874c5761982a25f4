import { queryOptions } from '@tanstack/react-query';
import { request } from '@/lib/request';
import type { Client, List } from '@/types/api';

/** No event tells of clients alone, so the list is read again while it is shown. */
export const clientsQuery = queryOptions({
  queryKey: ['clients'],
  queryFn: async ({ signal }) =>
    (await request<List<Client>>('GET', '/api/v1/clients', { signal })).items ?? [],
  refetchInterval: 5000,
});
