import { queryOptions } from '@tanstack/react-query';
import { request } from '@/lib/request';
import type { Status } from '@/types/api';

export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => request<Status>('GET', '/api/v1/status', { signal }),
  staleTime: Number.POSITIVE_INFINITY, // the event stream keeps it current
});
