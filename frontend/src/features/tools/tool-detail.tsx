import { useSuspenseQuery } from '@tanstack/react-query';
import { PackageX } from 'lucide-react';
import type { ReactNode } from 'react';
import { CopyButton } from '@/components/copy-button';
import { Section } from '@/components/fields';
import { JsonView, LongText } from '@/components/json-view';
import { DetailFrame, Gone } from '@/components/split-view';
import { classes } from '@/lib/class-names';
import { count, escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Tool } from '@/types/api';
import { toolsQuery } from './api';
import { tokenCost } from './groups';
import { effects, parameters } from './schema';
import { noParameters, TryTool } from './try-tool';

const words = {
  publicName: 'Name shown to clients',
  schema: 'Input schema',
  outputSchema: 'Output schema',
  annotations: 'Annotations',
};

export function ToolDetail({
  name,
  begin,
  extra,
  hidden,
  onClose,
}: {
  name: string;
  /** What is shown instead of a tool that is hidden from clients. */
  hidden?: ReactNode;
  /** The initial arguments as JSON text. */
  begin?: string | undefined;
  /** Content about the tool from other features. */
  extra?: (tool: Tool) => ReactNode;
  onClose: () => void;
}) {
  const labelOf = useServerName();
  const { data: tools } = useSuspenseQuery(toolsQuery);
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) {
    return (
      <Gone
        id={name}
        title={escapeControlCharacters(name)}
        icon={PackageX}
        what={hidden ? 'This tool is hidden from clients' : 'This tool is not available'}
        onClose={onClose}
      >
        {hidden ?? 'Its server may have stopped, or may no longer list the tool.'}
      </Gone>
    );
  }
  return (
    <DetailFrame
      id={name}
      title={
        <>
          <span className="font-normal text-ink3">
            {escapeControlCharacters(labelOf(tool.server))} /{' '}
          </span>
          {escapeControlCharacters(tool.tool)}
        </>
      }
      meta={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          {tool.title && (
            <span className="min-w-0 [overflow-wrap:anywhere]">
              {escapeControlCharacters(tool.title.slice(0, 300))}
            </span>
          )}
          <EffectBadges annotations={tool.annotations} />
          <span className="whitespace-nowrap text-xs text-ink3" title={texts.tools.tokensHint}>
            {texts.tools.tokens(count(tokenCost(tool)))}
          </span>
        </span>
      }
      onClose={onClose}
    >
      <div className="px-4 py-4 text-base md:px-5">
        <p className="max-w-prose whitespace-pre-wrap [overflow-wrap:anywhere]">
          {tool.description ? <LongText text={tool.description} /> : 'No description.'}
        </p>
        <p className="mt-3 flex items-center gap-2 text-sm text-ink3">
          <span className="shrink-0">{words.publicName}</span>
          <code className="min-w-0 font-mono text-xs text-ink2 [overflow-wrap:anywhere]">
            {escapeControlCharacters(tool.name)}
          </code>
          <CopyButton text={tool.name} label={`${texts.actions.copy}: ${words.publicName}`} />
        </p>
      </div>
      <Section title="Try it">
        <TryTool key={tool.name} tool={tool} begin={begin} />
      </Section>
      {extra?.(tool)}
      <Section title="Parameters">
        <Parameters tool={tool} />
      </Section>
      {tool.inputSchema && (
        <Section title={words.schema}>
          <JsonView text={tool.inputSchema} label={words.schema} />
        </Section>
      )}
      {tool.outputSchema && (
        <Section title={words.outputSchema}>
          <JsonView text={tool.outputSchema} label={words.outputSchema} />
        </Section>
      )}
      {tool.annotations && tool.annotations !== '{}' && (
        <Section title={words.annotations}>
          <JsonView text={tool.annotations} label={words.annotations} />
        </Section>
      )}
    </DetailFrame>
  );
}

function EffectBadges({ annotations }: { annotations: string }) {
  const { readOnly, destructive, openWorld } = effects(annotations);
  const badges: [boolean, string, string][] = [
    [readOnly, 'Read-only', 'bg-ok-soft text-ok'],
    [destructive, 'Destructive', 'bg-bad-soft text-bad'],
    [openWorld, 'External access', 'bg-warn-soft text-warn'],
  ];
  return badges
    .filter(([on]) => on)
    .map(([, text, color]) => (
      <span
        key={text}
        title={texts.tools.declared}
        className={classes('rounded px-1.5 py-0.5 text-xs font-medium', color)}
      >
        {text}
      </span>
    ));
}

function Parameters({ tool }: { tool: Tool }) {
  const list = parameters(tool.inputSchema);
  if (list.length === 0) return <p className="text-sm text-ink3">{noParameters}</p>;
  return (
    <dl className="space-y-2.5 text-sm">
      {list.map((parameter) => (
        <div key={parameter.name}>
          <dt className="flex flex-wrap items-baseline gap-x-2">
            <code className="font-mono text-xs font-semibold [overflow-wrap:anywhere]">
              {escapeControlCharacters(parameter.name)}
            </code>
            <span className="font-mono text-xs text-ink3 [overflow-wrap:anywhere]">
              {escapeControlCharacters(parameter.type)}
            </span>
            {parameter.required && <span className="text-xs text-ink3">required</span>}
          </dt>
          {parameter.description && (
            <dd className="mt-0.5 max-w-prose whitespace-pre-wrap text-ink2 [overflow-wrap:anywhere]">
              {escapeControlCharacters(parameter.description.slice(0, 2000))}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
