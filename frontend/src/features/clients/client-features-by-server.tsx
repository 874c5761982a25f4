import { useQuery } from '@tanstack/react-query';
import { Check, Minus, User } from 'lucide-react';
import { useState } from 'react';
import { SelectField } from '@/components/fields';
import { ScrollArea } from '@/components/scroll-area';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { ClientFeatures } from '@/types/api';
import { featuresQuery } from './api';
import type { JoinedClient } from './joined-clients';

const featuresTexts = withoutPrototypes({
  how: {
    passes: 'supported',
    'with approval': 'with approval',
    'not client': 'not supported by client',
    'not server': 'not supported by server',
  },
} as const);

const t = featuresTexts;

/** The MCP features that work end to end between one client and each server. */
export function FeatureMatrix({ clients }: { clients: JoinedClient[] }) {
  const labelOf = useServerName();
  const { data } = useQuery(featuresQuery);
  const [at, setAt] = useState('0');
  const client = data?.[Number(at)] ?? data?.[0];
  if (!client)
    return (
      <p className="text-sm text-ink2">What a client supports is known from its first session.</p>
    );
  const servers = (client.servers ?? []).filter((one) => one.known);
  const names = servers[0]?.features?.map((feature) => feature.name) ?? [];
  return (
    <>
      <div className="@container mb-2 flex flex-wrap items-center gap-3">
        <SelectField
          label="Client"
          value={at}
          options={(data ?? []).map((one, index) => ({
            value: String(index),
            text: escapeControlCharacters(nameOf(one, clients)),
          }))}
          onChange={setAt}
        />
        <span className="text-sm text-ink3">
          {escapeControlCharacters(texts.mcp(client.protocolVersion, client.era))}
        </span>
      </div>
      {servers.length === 0 ? (
        <p className="text-sm text-ink3">No servers are configured.</p>
      ) : (
        <ScrollArea
          aria-label="Features by server"
          className="overflow-x-auto rounded-lg border bg-panel shadow-card"
        >
          <table className="w-full text-sm">
            <thead>
              <tr className="text-left text-xs text-ink3">
                <th scope="col" className="px-4 py-2 font-normal">
                  Feature
                </th>
                {servers.map((one) => (
                  <th
                    key={one.server}
                    scope="col"
                    className="max-w-32 truncate px-3 py-2 font-normal"
                  >
                    {escapeControlCharacters(labelOf(one.server).slice(0, 60))}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {names.map((name, row) => (
                <tr key={name} className="border-t">
                  <th scope="row" className="px-4 py-1.5 text-left font-normal whitespace-nowrap">
                    {escapeControlCharacters(name)}
                  </th>
                  {servers.map((one) => {
                    const feature = one.features?.[row];
                    return (
                      <td key={one.server} className="px-3 py-1.5" title={feature?.note}>
                        <How how={feature?.how ?? ''} />
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </>
  );
}

/** The name from the list of clients, and the name that the client reports. */
function nameOf({ token, name, version }: ClientFeatures, clients: JoinedClient[]): string {
  const known = token && clients.find((one) => one.token === token)?.name;
  const reported = `${name || token || 'Unnamed'} ${version}`.trim();
  return known && known !== name ? `${known} (${reported})` : reported;
}

function How({ how }: { how: string }) {
  const passes = how === 'passes';
  const approval = how === 'with approval';
  const Icon = passes ? Check : approval ? User : Minus;
  return (
    <span
      className={classes(
        'flex items-center gap-1.5 text-xs whitespace-nowrap',
        passes ? 'text-ok' : approval ? 'text-accent' : 'text-ink3',
      )}
    >
      <Icon className="size-3.5" aria-hidden />
      {t.how[how as keyof typeof t.how] ?? escapeControlCharacters(how)}
    </span>
  );
}
