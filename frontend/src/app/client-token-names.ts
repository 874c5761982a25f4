import { useQuery } from '@tanstack/react-query';
import { clientsQuery } from '@/features/clients/api';
import { byName } from '@/lib/format';

/** The names of the tokens that clients hold. */
export function useClientTokenNames(): string[] {
  const { data: clients } = useQuery(clientsQuery);
  return [...new Set((clients ?? []).filter((c) => c.hasToken).map((c) => c.token))].sort(byName);
}
