import { useMemo, useState } from 'react';
import { CodeView } from '@/components/code';
import { CopyButton } from '@/components/copy-button';
import { JsonTree } from '@/components/json-tree';
import { ScrollArea } from '@/components/scroll-area';
import { Segments } from '@/components/segments';
import { formatJson } from '@/lib/json-text';
import { texts } from '@/lib/texts';
import { useWideScreen } from '@/lib/wide-screen';
import { formatYaml } from '@/lib/yaml-text';

const t = texts.json;

/** The structured content of a result, as a tree to open or as YAML to read and copy. */
export function Structured({ text }: { text: string }) {
  const [view, setView] = useState<'tree' | 'yaml'>('tree');
  const label = texts.calls.structured;
  const Heading = useWideScreen() ? 'h4' : 'h3'; // one below that of its section
  return (
    <div className="rounded-md border bg-sunken">
      <div className="flex flex-wrap items-center gap-x-3 border-b py-0.5 pr-1 pl-3">
        <Heading className="flex-1 text-xs text-ink3">{label}</Heading>
        <Segments
          label={t.structuredView}
          value={view}
          onChange={setView}
          options={[
            { value: 'tree', text: t.tree },
            { value: 'yaml', text: t.yaml },
          ]}
        />
        <CopyButton
          text={() => (view === 'yaml' ? formatYaml(text) : formatJson(text))}
          label={`${texts.actions.copy}: ${label}`}
        />
      </div>
      {view === 'tree' ? (
        <ScrollArea aria-label={label} className="max-h-[28rem] p-3">
          <JsonTree text={text} />
        </ScrollArea>
      ) : (
        <Yaml text={text} label={label} />
      )}
    </div>
  );
}

function Yaml({ text, label }: { text: string; label: string }) {
  const yaml = useMemo(() => formatYaml(text), [text]);
  return <CodeView text={yaml} label={label} language="yaml" />;
}
