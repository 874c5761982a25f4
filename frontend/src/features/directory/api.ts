import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { request } from '@/lib/request';
import type { Directory, Installation } from '@/types/api';

export interface Filters {
  q?: string | undefined;
  kind?: string | undefined;
  only?: string | undefined;
}

export const directoryQuery = ({ q, kind, only }: Filters) => {
  const query = new URLSearchParams();
  if (q) query.set('search', q.slice(0, 200));
  if (kind) query.set('kind', kind);
  if (only) query.set('only', only);
  return queryOptions({
    queryKey: ['directory', q ?? '', kind ?? '', only ?? ''],
    queryFn: ({ signal }) => request<Directory>('GET', `/api/v1/directory?${query}`, { signal }),
    placeholderData: keepPreviousData,
    refetchOnMount: 'always', // servers are also installed or removed on other pages
  });
};

/** Fetches the list of the registry again, which takes up to two minutes. */
export function useRefresh() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<Directory>('POST', '/api/v1/directory/refresh'),
    onSuccess: () => client.invalidateQueries({ queryKey: ['directory'] }),
  });
}

/** What to install, and the entered values. */
export interface InstallRequest {
  name?: string;
  option?: number;
  upload?: string;
  label: string;
  values: Record<string, string>;
}

/**
 * A dry run: the changes that an order would write. It is debounced while the user types, and not
 * cached after use, because an order can contain secrets.
 */
export function usePlan(order: InstallRequest) {
  const wanted = JSON.stringify(order);
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wanted), 350);
    return () => clearTimeout(timer);
  }, [wanted]);
  const plan = useQuery({
    queryKey: ['install-plan', asked],
    queryFn: ({ signal }) =>
      request<Installation>('POST', '/api/v1/directory/plan', { body: JSON.parse(asked), signal }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    placeholderData: keepPreviousData,
  });
  return { ...plan, current: asked === wanted && !plan.isPlaceholderData && !plan.isFetching };
}

/** Writes the displayed plan. */
export function useInstall() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ order, entry }: { order: InstallRequest; entry: string }) =>
      request<Installation>('POST', '/api/v1/directory/install', { body: { ...order, entry } }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ['directory'] });
      client.invalidateQueries({ queryKey: ['servers'] });
      client.invalidateQueries({ queryKey: ['secrets'] });
    },
  });
}
