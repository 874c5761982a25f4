import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request, requestText } from '@/lib/request';
import type { Secrets } from '@/types/api';

/** Sets a secret, or deletes it without a value. */
export function useSecret() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string | undefined }) =>
      requestText(
        value === undefined ? 'DELETE' : 'PUT',
        `/api/v1/secrets/${encodeURIComponent(name)}`,
        value === undefined ? {} : { body: { value } },
      ),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ['secrets'] });
      client.invalidateQueries({ queryKey: ['status'] }); // its notices are about the key
    },
  });
}

/** Stores a value as a new secret, and returns its name: `name`, or with a number if it exists. */
export function useNewSecret() {
  const store = useSecret();
  return useMutation({
    mutationFn: async ({ name, value }: { name: string; value: string }) => {
      const { items } = await request<Secrets>('GET', '/api/v1/secrets');
      const taken = new Set((items ?? []).map((one) => one.name));
      let free = name;
      for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
      await store.mutateAsync({ name: free, value });
      return free;
    },
  });
}

/** The name of the secret that stores a server's variable. */
export function secretName(server: string, variable: string): string {
  const upper = (text: string) =>
    text
      .toUpperCase()
      .match(/[A-Z0-9]+/g)
      ?.join('_') ?? '';
  const [prefix, name] = [upper(server), upper(variable)];
  return name.startsWith(`${prefix}_`) ? name : `${prefix}_${name}`;
}
