import { useQuery } from '@tanstack/react-query';
import { Import, LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { FoldedDiff } from '@/components/diff-view';
import { Failure } from '@/components/failure';
import { SelectField } from '@/components/fields';
import { escapeControlCharacters } from '@/lib/format';
import { messageOf } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import { connectionsQuery, importableQuery, importPlanQuery, useImport } from './api';
import { Importable } from './importable-servers';

const words = {
  title: 'Import from client…',
};

/** Copies the servers of a client into our configuration; the client's own file is not changed. */
export function ImportPanel() {
  const { data } = useQuery(connectionsQuery);
  const [open, setOpen] = useState(false);
  const here = (data ?? []).filter((one) => one.detected && one.state !== 'unreadable');
  const [key, setKey] = useState('');
  const chosen = here.find((one) => one.key === key) ?? here[0];
  if (!chosen) return null;
  return (
    <section aria-label={words.title} className={open ? 'w-full' : undefined}>
      <Button aria-expanded={open} onClick={() => setOpen((on) => !on)}>
        <Import className="size-4" aria-hidden />
        {words.title}
      </Button>
      {open && (
        <div className="mt-3 space-y-3 rounded-lg border bg-panel p-4 shadow-card">
          <div className="@container flex flex-wrap items-center gap-3 text-sm text-ink2">
            <SelectField
              label="Client"
              value={chosen.key}
              options={here.map((one) => ({
                value: one.key,
                text: escapeControlCharacters(one.name),
              }))}
              onChange={setKey}
            />
            Copies its servers. The client’s own configuration is not changed.
          </div>
          <ImportForm key={chosen.key} connection={chosen.key} onDone={() => setOpen(false)} />
        </div>
      )}
    </section>
  );
}

/** The servers of a client or a source to choose from, and what importing them would write. */
export function ImportForm({ connection, onDone }: { connection: string; onDone: () => void }) {
  const [servers, setServers] = useState<string[] | undefined>(undefined);
  const { data: list } = useQuery(importableQuery(connection));
  const count = (list ?? []).filter(
    (one) => !one.skipReason && !one.exists && (servers?.includes(one.name) ?? true),
  ).length;
  const any = (list ?? []).some((one) => !one.skipReason);
  const run = useImport(connection);
  const plan = useQuery({
    ...importPlanQuery(connection, servers),
    enabled: any && !run.isPending && !run.isSuccess,
  });
  const diff = plan.data?.diff ?? '';
  return (
    <>
      <Importable connection={connection} chosen={servers} onChange={setServers} />
      {plan.isError && (
        <p role="alert" className="text-sm text-bad">
          {escapeControlCharacters(messageOf(plan.error))}
        </p>
      )}
      {diff && (
        <FoldedDiff
          diff={diff}
          of="the configuration file"
          label="Changes to the configuration file"
        />
      )}
      <Failure error={run.error} />
      {any && (
        <Button
          look="primary"
          disabled={!diff || run.isPending || plan.isFetching}
          onClick={() =>
            run.mutate(
              { servers, diff },
              {
                onSuccess: () => {
                  toast('ok', 'Imported. The servers are starting.');
                  onDone();
                },
              },
            )
          }
        >
          {run.isPending && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
          {`Import ${texts.connections.servers(count)}`}
        </Button>
      )}
    </>
  );
}
