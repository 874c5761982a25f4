import { queryOptions, useQuery } from '@tanstack/react-query';
import { Section } from '@/components/fields';
import { age, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { request } from '@/lib/request';
import type { Destinations } from '@/types/api';

export const destinationsQuery = (server: string) =>
  queryOptions({
    queryKey: ['server', server, 'destinations'],
    queryFn: ({ signal }) =>
      request<Destinations>('GET', `/api/v1/servers/${encodeURIComponent(server)}/destinations`, {
        signal,
      }),
    refetchInterval: 10_000,
    retry: false,
  });

/** The hosts and ports that a server's processes connect to, newest first. */
export function ServerDestinations({ server }: { server: string }) {
  const { data } = useQuery(destinationsQuery(server));
  const now = useNow();
  if (!data) return null;
  return (
    <Section title="Destinations">
      {!data.available && (
        <p className="text-sm text-ink2">{escapeControlCharacters(data.reason)}</p>
      )}
      {data.available && data.items.length === 0 && (
        <p className="text-sm text-ink2">
          No connections seen yet. Connections are sampled every few seconds, so short ones may be
          missing.
        </p>
      )}
      {data.items.length > 0 && (
        <ul className="space-y-1.5 text-sm">
          {data.items.map((one) => (
            <li
              key={`${one.protocol} ${one.host} ${one.port}`}
              className="flex flex-wrap items-baseline gap-x-3"
            >
              <span className="min-w-0 flex-1 basis-56 [overflow-wrap:anywhere]">
                {escapeControlCharacters(one.host.slice(0, 300))}
                <span className="text-ink3">
                  :{one.port}
                  {one.protocol !== 'tcp' && ` ${one.protocol.toUpperCase()}`}
                  {one.address !== one.host && ` · ${escapeControlCharacters(one.address)}`}
                </span>
              </span>
              <span className="text-xs text-ink3">
                <time dateTime={one.firstAt} title={exactTime(one.firstAt)}>
                  {`first seen ${age(one.firstAt, now)} ago`}
                </time>
                {', '}
                <time dateTime={one.lastAt} title={exactTime(one.lastAt)}>
                  {`last seen ${age(one.lastAt, now)} ago`}
                </time>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
