import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { Button } from '@/components/button';
import { Section } from '@/components/fields';
import { More } from '@/components/more';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { request } from '@/lib/request';
import { toast, toastError } from '@/lib/toast';
import type { SandboxStatus } from '@/types/api';

const modesTexts = withoutPrototypes({ off: 'Off.', on: 'On.' } as const);

const aboutTexts = withoutPrototypes({
  off: 'The server can access everything that you can.',
  on: 'Allowed in addition to the default rules:',
} as const);

const sandboxPortsText = (list: string) =>
  `TCP to ${list.includes(',') ? 'ports' : 'port'} ${list}; all UDP`;

const path = (server: string) => `/api/v1/servers/${encodeURIComponent(server)}/sandbox`;

export const sandboxQuery = (server: string) =>
  queryOptions({
    queryKey: ['server', server, 'sandbox'],
    queryFn: ({ signal }) => request<SandboxStatus>('GET', path(server), { signal }),
    refetchInterval: 10_000,
    retry: false,
  });

/** The sandbox of a server: its mode, what the system supports, and what was denied. */
export function ServerSandbox({ server }: { server: string }) {
  const { data } = useQuery(sandboxQuery(server));
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (body: { mode: string; path?: string }) =>
      request<SandboxStatus>('POST', path(server), { body }),
    onSuccess: (status) => {
      client.setQueryData(sandboxQuery(server).queryKey, status);
      client.invalidateQueries({ queryKey: ['config'] });
      toast('ok', 'Saved. The server is restarting or waiting for your approval.');
    },
    onError: toastError,
  });
  if (!data?.applies) return null;
  const { mode } = data;
  const nothing = mode === 'on' && !data.protections[0]?.enforced;
  return (
    <Section title="Sandbox">
      <p className="text-sm">
        <span className="font-medium">{modesTexts[mode]}</span>{' '}
        <span className="text-ink2">
          {nothing ? 'This system cannot restrict the server.' : aboutTexts[mode]}
        </span>
      </p>
      {data.reason && (
        <p className="mt-1 text-sm text-warn">{escapeControlCharacters(data.reason)}</p>
      )}
      {mode === 'on' && !nothing && <Access {...data} />}
      <Refused
        list={data.refused}
        more={data.refusedMore}
        pending={change.isPending}
        onAllow={(mode, path) => change.mutate({ mode, path })}
      />
      <div className="mt-3 flex flex-wrap gap-2">
        {mode !== 'off' && (
          <Button
            small
            look="quiet"
            disabled={change.isPending}
            onClick={() => change.mutate({ mode: 'off' })}
          >
            Turn off
          </Button>
        )}
      </div>
      {mode === 'on' && data.access && (
        <details className="mt-3">
          <summary className="cursor-pointer text-sm text-ink2">
            Rules in effect at the last start
          </summary>
          <PathList title="Writable paths" paths={data.access.write} />
          <PathList title="Unreadable paths" paths={data.access.unreadable} />
        </details>
      )}
      <details className="mt-3">
        <summary className="cursor-pointer text-sm text-ink2">
          Restrictions that this system can enforce
        </summary>
        <ul className="mt-2 space-y-1 text-sm">
          {data.protections.map((one) => {
            const Icon = one.enforced ? Check : X;
            return (
              <li key={one.name} className="flex gap-2">
                <Icon
                  className={`mt-0.5 size-4 shrink-0 ${one.enforced ? 'text-ok' : 'text-ink3'}`}
                  aria-label={one.enforced ? 'yes:' : 'no:'}
                />
                <span className="min-w-0">
                  {one.name}
                  {!one.enforced && <span className="text-ink3">: {one.requires}</span>}
                </span>
              </li>
            );
          })}
        </ul>
      </details>
    </Section>
  );
}

function PathList({ title, paths }: { title: string; paths: string[] }) {
  if (paths.length === 0) return null;
  return (
    <>
      <p className="mt-2 text-sm">{title}</p>
      <ul className="mt-1 space-y-0.5 font-mono text-xs">
        {paths.slice(0, 100).map((path) => (
          <li key={path} className="[overflow-wrap:anywhere]">
            {escapeControlCharacters(path.slice(0, 500))}
          </li>
        ))}
      </ul>
      <More of={paths.length} shown={100} />
    </>
  );
}

/** The accesses that the sandbox denied, each with a button that allows it. */
function Refused({
  list,
  more,
  pending,
  onAllow,
}: {
  list: SandboxStatus['refused'];
  more: number;
  pending: boolean;
  onAllow: (mode: string, path: string) => void;
}) {
  if (list.length === 0) return null;
  return (
    <div className="mt-3 rounded-md border border-warn/40 bg-panel p-3 text-sm">
      <p className="font-medium">Access denied since the last start, as reported by the server</p>
      <ul className="mt-1 divide-y">
        {list.map((one) => (
          <li key={one.path} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
            <div className="min-w-0 flex-1 basis-60 text-xs [overflow-wrap:anywhere]">
              <code>{escapeControlCharacters(one.path.slice(0, 500))}</code>
              {(one.allow || one.remark) && (
                <p className="text-ink2">
                  {one.allow
                    ? `Allows ${escapeControlCharacters(one.allow.slice(0, 500))} and everything below it`
                    : `This path cannot be allowed here, because it ${escapeControlCharacters(one.remark ?? '')}. If the server needs it, edit the configuration.`}
                </p>
              )}
            </div>
            {one.allow && (
              <Button
                small
                disabled={pending}
                onClick={() => onAllow(one.unreadable ? 'read' : 'write', one.allow)}
              >
                {one.unreadable ? 'Allow reading' : 'Allow writing'}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="mt-1 text-xs text-ink2">{`and ${more} more`}</p>}
    </div>
  );
}

/** What a sandbox allows in addition to the default rules. */
function Access({
  read,
  write,
  network,
  ports,
  unixSockets,
}: Pick<SandboxStatus, 'read' | 'write' | 'network' | 'ports' | 'unixSockets'>) {
  const lines = [
    ...read.map((one) => `Read ${escapeControlCharacters(one.slice(0, 500))}`),
    ...write.map((one) => `Write ${escapeControlCharacters(one.slice(0, 500))}`),
    network === 'any'
      ? 'Any network connections'
      : ports.length > 0
        ? sandboxPortsText(ports.join(', '))
        : 'No network connections',
    unixSockets === 'any'
      ? 'Any Unix sockets, through which the server may escape the sandbox'
      : 'No Unix sockets',
  ];
  return (
    <ul className="mt-2 list-disc space-y-0.5 pl-5 text-sm">
      {lines.map((line) => (
        <li key={line} className="[overflow-wrap:anywhere]">
          {line}
        </li>
      ))}
    </ul>
  );
}
