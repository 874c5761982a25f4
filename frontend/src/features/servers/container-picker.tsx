import { queryOptions, useQuery } from '@tanstack/react-query';
import { Container as Box } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { More } from '@/components/more';
import { Loading } from '@/components/page';
import { escapeControlCharacters } from '@/lib/format';
import { messageOf, request } from '@/lib/request';
import type { Container, ContainerDetail, DockerView } from '@/types/api';

const words = {
  title: 'Add from container…',
};

const dockerQuery = queryOptions({
  queryKey: ['docker'],
  queryFn: ({ signal }) => request<DockerView>('GET', '/api/v1/docker', { signal }),
  refetchInterval: 5000,
  retry: false,
});

const insideQuery = (id: string) =>
  queryOptions({
    queryKey: ['docker', id],
    queryFn: ({ signal }) =>
      request<ContainerDetail>('GET', `/api/v1/docker/containers/${encodeURIComponent(id)}`, {
        signal,
      }),
    staleTime: 10_000,
    retry: false,
  });

/** The running containers with their processes, and the servers that can be added from them. */
export function ContainerPicker({ onPick }: { onPick: (entry: string, name: string) => void }) {
  const [open, setOpen] = useState(false);
  return (
    <section aria-label={words.title} className={open ? 'w-full' : undefined}>
      <Button aria-expanded={open} onClick={() => setOpen((on) => !on)}>
        <Box className="size-4" aria-hidden />
        {words.title}
      </Button>
      {open && <Containers onPick={onPick} />}
    </section>
  );
}

function Containers({ onPick }: { onPick: (entry: string, name: string) => void }) {
  const { data, error, isPending } = useQuery(dockerQuery);
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  if (isPending) return <Loading />;
  if (error)
    return <p className="mt-2 text-sm text-ink3">{escapeControlCharacters(messageOf(error))}</p>;
  const list = data.containers ?? [];
  if (data.engine.state !== 'ok')
    return (
      <p className="mt-2 text-sm text-warn [overflow-wrap:anywhere]">
        {escapeControlCharacters([data.engine.message, data.engine.hint].filter(Boolean).join(' '))}
      </p>
    );
  if (list.length === 0) return <p className="mt-2 text-sm text-ink3">No container is running.</p>;
  return (
    <ul className="mt-3 overflow-hidden rounded-lg border bg-panel shadow-card">
      {list.map((one) => (
        <li key={one.id} className="border-t first:border-t-0">
          <button
            type="button"
            aria-expanded={chosen === one.id}
            onClick={() => setChosen((old) => (old === one.id ? undefined : one.id))}
            className="flex w-full flex-wrap items-baseline gap-x-3 px-4 py-2.5 text-left outline-offset-[-2px] hover:bg-hover"
          >
            <span className="font-medium [overflow-wrap:anywhere]">
              {escapeControlCharacters(one.name)}
            </span>
            <span className="min-w-0 flex-1 truncate font-mono text-xs text-ink3">
              {escapeControlCharacters(one.image)}
            </span>
            {(one.servers ?? []).length > 0 && (
              <span className="text-xs text-ok">
                {`used by ${(one.servers ?? []).map((s) => escapeControlCharacters(s)).join(', ')}`}
              </span>
            )}
            <span className="text-xs text-ink3">
              {escapeControlCharacters(one.status || one.state)}
            </span>
          </button>
          {chosen === one.id && <Inside container={one} onPick={onPick} />}
        </li>
      ))}
    </ul>
  );
}

function Inside({
  container,
  onPick,
}: {
  container: Container;
  onPick: (entry: string, name: string) => void;
}) {
  const { data, error, isPending } = useQuery(insideQuery(container.id));
  if (isPending) return <Loading />;
  if (error)
    return (
      <p className="px-4 pb-3 text-sm text-bad">{escapeControlCharacters(messageOf(error))}</p>
    );
  return (
    <div className="space-y-3 bg-sunken px-4 py-3 text-sm">
      {(data.programs ?? []).length > 0 && (
        <p className="text-ink2">
          Programs found:{' '}
          <span className="font-mono text-xs">
            {(data.programs ?? []).map((one) => escapeControlCharacters(one.name)).join(', ')}
          </span>
        </p>
      )}
      {(data.processes ?? []).slice(0, 5).map((one) => (
        <p key={one.pid} className="truncate font-mono text-xs text-ink3">
          {one.pid} {escapeControlCharacters(one.command.slice(0, 300))}
        </p>
      ))}
      <More of={(data.processes ?? []).length} shown={5} />
      {!data.shell && (
        <p className="text-warn">
          This container has no shell, so its programs cannot be listed. Enter the path of a
          program.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {(data.suggestions ?? []).map((one) => (
          <Button key={one.title} small onClick={() => onPick(one.entry, container.name)}>
            {escapeControlCharacters(one.title.slice(0, 120))}
          </Button>
        ))}
        <Button
          small
          look="quiet"
          onClick={() =>
            onPick(
              JSON.stringify({ type: 'docker', container: container.name, command: '' }),
              container.name,
            )
          }
        >
          Other program
        </Button>
      </div>
    </div>
  );
}
