import { useQuery } from '@tanstack/react-query';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Confirm } from '@/components/confirm';
import { ShowMore } from '@/components/more';
import { age, escapeControlCharacters, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { CompletedImport } from '@/types/api';
import { takenImportsQuery, useUndoImport } from './api';

const words = {
  title: 'Earlier imports',
  undo: 'Undo',
};

const few = 5;
const shownServers = 6;

function namesOf(servers: string[]): string {
  const names = servers.slice(0, shownServers).map(escapeControlCharacters).join(', ');
  return servers.length > shownServers
    ? `${names} and ${servers.length - shownServers} more`
    : names;
}

/** Imports that can be undone, each separately. */
export function TakenImports() {
  const { data } = useQuery(takenImportsQuery);
  const undo = useUndoImport();
  const now = useNow();
  const [all, setAll] = useState(false);
  const [asking, setAsking] = useState<CompletedImport | undefined>(undefined);
  if (!data || data.length === 0) return null;
  return (
    <section aria-label={words.title} className="mt-4 w-full max-w-3xl">
      <h2 className="mb-2 text-sm font-semibold">{words.title}</h2>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {data.slice(0, all ? data.length : few).map((one) => (
          <li
            key={one.id}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t px-4 py-2 text-sm first:border-t-0"
          >
            <span className="min-w-0 flex-1 basis-52 [overflow-wrap:anywhere]">
              <span className="font-medium">{namesOf(one.servers ?? [])}</span>{' '}
              <span className="text-ink3">{`from ${escapeControlCharacters(one.client)}`}</span>
            </span>
            <span className="ml-auto flex items-center gap-3">
              <span className="text-xs text-ink3" title={exactTime(one.at)}>
                {texts.servers.ago(age(one.at, now))}
              </span>
              <Button small disabled={undo.isPending} onClick={() => setAsking(one)}>
                <Undo2 className="size-3.5" aria-hidden />
                {words.undo}
              </Button>
            </span>
          </li>
        ))}
        {data.length > few && (
          <li className="border-t px-4 py-1.5 text-sm">
            <ShowMore n={data.length - few} all={all} onToggle={setAll} />
          </li>
        )}
      </ul>
      {asking && (
        <Confirm
          title="Undo this import?"
          action={words.undo}
          of={undo}
          onConfirm={() =>
            undo.mutate(asking.id, {
              onSuccess: () => {
                setAsking(undefined);
                toast('ok', 'Import undone.');
              },
            })
          }
          onClose={() => setAsking(undefined)}
        >
          {`These servers will be stopped and removed from the configuration, together with their imported secrets: ${(
            asking.servers ?? []
          )
            .map((name) => escapeControlCharacters(name))
            .join(', ')
            .slice(
              0,
              2000,
            )}. The configuration of ${escapeControlCharacters(asking.client)} will not change, so you can import them again.`}
        </Confirm>
      )}
    </section>
  );
}
