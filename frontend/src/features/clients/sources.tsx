import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { escapeControlCharacters } from '@/lib/format';
import type { Source } from '@/types/api';
import { sourcesQuery } from './api';
import { ImportForm } from './import-panel';
import { TakenImports } from './undoable-imports';

const short = (text: string) => escapeControlCharacters(text.slice(0, 300));

/** Other gateways, and the extensions and plugins of clients, whose servers can be imported. */
export function SourcesSection() {
  const { data = [] } = useQuery(sourcesQuery);
  if (data.length === 0) return null;
  return (
    <section aria-labelledby="sources-title">
      <h2 id="sources-title" className="mb-2 font-semibold">
        Other gateways and plugins
      </h2>
      <ul className="overflow-hidden rounded-lg border bg-panel shadow-card">
        {data.map((one) => (
          <Row key={one.key} source={one} />
        ))}
      </ul>
      <TakenImports />
    </section>
  );
}

function Row({ source }: { source: Source }) {
  const [open, setOpen] = useState(false);
  const name = short(source.name);
  return (
    <li className="space-y-1 border-t px-4 py-2.5 text-sm first:border-t-0">
      <h3 className="font-semibold first-letter:uppercase">{name}</h3>
      <p className="text-ink2 [overflow-wrap:anywhere]">
        {source.plugin && 'Started past Drawbridge: '}
        {short(source.servers.join(', '))}
        <span className="ml-3 font-mono text-xs text-ink3">{short(source.path)}</span>
      </p>
      {source.problem ? (
        <p className="text-warn [overflow-wrap:anywhere]">{short(source.problem)}</p>
      ) : (
        <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="w-fit cursor-pointer text-ink2">
            Import servers<span className="sr-only"> of {name}</span>
          </summary>
          <div className="space-y-3 pt-2">
            {open && <ImportForm connection={source.key} onDone={() => setOpen(false)} />}
          </div>
        </details>
      )}
    </li>
  );
}
