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
    refetchOnMount: 'always', // what is installed changes on other pages
  });
};

/** Asks the registry for its list. It takes up to two minutes. */
export function useRefresh() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<Directory>('POST', '/api/v1/directory/refresh'),
    onSuccess: () => client.invalidateQueries({ queryKey: ['directory'] }),
  });
}

/** What is to be installed, and what was filled in. */
export interface Order {
  name?: string;
  option?: number;
  upload?: string;
  label: string;
  values: Record<string, string>;
}

/**
 * What an order would write. It follows what is typed, a moment later, and is not kept:
 * an order may hold secrets.
 */
export function usePlan(order: Order) {
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

/** Writes what the plan has shown. */
export function useInstall() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ order, entry }: { order: Order; entry: string }) =>
      request<Installation>('POST', '/api/v1/directory/install', { body: { ...order, entry } }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ['directory'] });
      client.invalidateQueries({ queryKey: ['servers'] });
      client.invalidateQueries({ queryKey: ['secrets'] });
    },
  });
}
