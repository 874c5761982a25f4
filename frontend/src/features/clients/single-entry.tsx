import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { count, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { request, requestText } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Connection } from '@/types/api';

/** Replaces the entries of a client for single servers by one for all: only that can list tools by search. */
export function SingleEntry({ connection }: { connection: Connection }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const name = escapeControlCharacters(connection.name.slice(0, 200));
  const post = (action: string, body: object) =>
    request('POST', `/api/v1/connections/${encodeURIComponent(connection.key)}/${action}`, {
      body,
    });
  const change = useMutation({
    mutationFn: async () => {
      await post('undo', {});
      await post('connect', {
        http: connection.http,
        move: true,
        servers: connection.moved.map((one) => one.name),
        singleEntry: true,
      });
      await requestText('PUT', `/api/v1/client-views/${encodeURIComponent(connection.id)}`, {
        body: { toolMode: 'search' },
      });
    },
    onSuccess: () => {
      setAsking(false);
      toast('ok', `${name} has one entry for all servers. ${connection.reload}`);
    },
    onSettled: () =>
      Promise.all(
        [['connections'], ['profiles']].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
  const { data: profiles } = useQuery(profilesQuery);
  const search = profiles?.items[0]?.tokens.search;
  const entries = texts.connections.servers(connection.moved.length);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pt-3 text-sm text-ink2">
      <p className="min-w-0 flex-1 basis-72">
        {`Its file has an entry for each of ${entries}, which lists all tools of that server. With one entry for all servers, it finds tools by search instead${search !== undefined && search >= connection.tokens.all ? `, which costs more here: ${texts.tools.tokens(count(search))}` : ''}.`}
      </p>
      <Button small onClick={() => setAsking(true)}>
        Use one entry…
      </Button>
      {asking && (
        <Confirm
          title={`One entry for ${entries} of ${name}?`}
          action="Use one entry"
          danger={false}
          of={change}
          onConfirm={() => change.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>
            {`${name} then finds the tools of all servers of Drawbridge by search${search === undefined ? '' : `: ${texts.tools.tokens(count(search))} instead of ${texts.tools.tokens(count(connection.tokens.all))}`}. To give it only some servers, choose a profile.`}
          </p>
          <p className="mt-2">
            Tool names change, so permission rules of the client that name these tools no longer
            match. The servers restart. Disconnecting still restores the original file.
          </p>
        </Confirm>
      )}
    </div>
  );
}
