import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { Button } from '@/components/button';
import { Section } from '@/components/fields';
import { More } from '@/components/more';
import { escapeControlCharacters } from '@/lib/format';
import { request } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { SandboxStatus } from '@/types/api';

const t = texts.servers.sandbox;

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
      toast('ok', t.saved);
    },
    onError: toastError,
  });
  if (!data?.applies) return null;
  const { mode } = data;
  const nothing = mode === 'on' && !data.protections[0]?.enforced;
  return (
    <Section title={t.title}>
      <p className="text-sm">
        <span className="font-medium">{t.modes[mode]}</span>{' '}
        <span className="text-ink2">{nothing ? t.nothingConfined : t.about[mode]}</span>
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
        {mode !== 'on' && data.enough && (
          <Button small disabled={change.isPending} onClick={() => change.mutate({ mode: 'on' })}>
            {t.turnOn}
          </Button>
        )}
        {mode !== 'off' && (
          <Button
            small
            look="quiet"
            disabled={change.isPending}
            onClick={() => change.mutate({ mode: 'off' })}
          >
            {t.turnOff}
          </Button>
        )}
      </div>
      {mode === 'on' && data.access && (
        <details className="mt-3">
          <summary className="cursor-pointer text-sm text-ink2">{t.access}</summary>
          <PathList title={t.mayWrite} paths={data.access.write} />
          <PathList title={t.mayNotRead} paths={data.access.unreadable} />
        </details>
      )}
      <details className="mt-3">
        <summary className="cursor-pointer text-sm text-ink2">{t.protections}</summary>
        <ul className="mt-2 space-y-1 text-sm">
          {data.protections.map((one) => {
            const Icon = one.enforced ? Check : X;
            return (
              <li key={one.name} className="flex gap-2">
                <Icon
                  className={`mt-0.5 size-4 shrink-0 ${one.enforced ? 'text-ok' : 'text-ink3'}`}
                  aria-label={one.enforced ? t.can : t.cannot}
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
      <p className="font-medium">{t.refused}</p>
      <ul className="mt-1 divide-y">
        {list.map((one) => (
          <li key={one.path} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
            <div className="min-w-0 flex-1 basis-60 text-xs [overflow-wrap:anywhere]">
              <code>{escapeControlCharacters(one.path.slice(0, 500))}</code>
              {(one.allow || one.remark) && (
                <p className="text-ink2">
                  {one.allow
                    ? t.allowHint(escapeControlCharacters(one.allow.slice(0, 500)))
                    : t.notOffered(escapeControlCharacters(one.remark ?? ''))}
                </p>
              )}
            </div>
            {one.allow && (
              <Button
                small
                disabled={pending}
                onClick={() => onAllow(one.unreadable ? 'read' : 'write', one.allow)}
              >
                {one.unreadable ? t.allowReading : t.allowWriting}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="mt-1 text-xs text-ink2">{t.more(more)}</p>}
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
    ...read.map((one) => t.reads(escapeControlCharacters(one.slice(0, 500)))),
    ...write.map((one) => t.writes(escapeControlCharacters(one.slice(0, 500)))),
    network === 'any' ? t.anyNetwork : ports.length > 0 ? t.ports(ports.join(', ')) : t.noNetwork,
    unixSockets === 'any' ? t.anyUnixSockets : t.noUnixSockets,
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
