import { useMutation, useQueryClient } from '@tanstack/react-query';
import { requestText } from '@/lib/request';

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

/** The name of the secret that stores a server's variable. */
export function secretName(server: string, variable: string): string {
  const upper = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  const [prefix, name] = [upper(server), upper(variable)];
  return name.startsWith(`${prefix}_`) ? name : `${prefix}_${name}`;
}
