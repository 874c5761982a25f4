import { queryOptions, useQuery } from '@tanstack/react-query';
import { requestList } from '@/lib/request';
import type { Guest } from '@/types/api';

/** The clients in containers and on other hosts. */
export const guestsQuery = queryOptions({
  queryKey: ['guests'],
  queryFn: ({ signal }) => requestList<Guest>('/api/v1/guests', signal),
  staleTime: 5000,
});

/** Whether the client with a token is a guest. */
export function useIsGuest(): (token: string) => boolean {
  const { data } = useQuery(guestsQuery);
  return (token) => data?.some(({ name }) => name === token) ?? false;
}
