import { queryOptions } from '@tanstack/react-query';
import { request } from '@/lib/request';
import type { ConfigFile } from '@/types/api';

export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => request<ConfigFile>('GET', '/api/v1/config', { signal }),
  staleTime: 5000, // a config event makes it stale at once
});
