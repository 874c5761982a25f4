import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SelectField } from '@/components/fields';
import { TextField } from '@/components/text-field';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import type { ToolWithSettings } from '@/types/api';
import { toolSettingsQuery, useToolSetting } from './tool-settings';

const toolingDeclaredText = (value: boolean | null) =>
  value === null ? 'Not declared' : `Declared: ${value ? 'yes' : 'no'}`;

const hintsTexts = withoutPrototypes({
  readOnlyHint: 'Read-only',
  destructiveHint: 'Destructive (may delete or overwrite)',
  idempotentHint: 'Can be repeated without further effect',
  openWorldHint: 'External access (interacts with external systems)',
} as const);

const words = {
  title: 'Title',
  overridden: (yes: boolean) => `Set here: ${yes ? 'yes' : 'no'}`,
};

const declaredBy: Record<keyof typeof hintsTexts, (tool: ToolWithSettings) => boolean | null> = {
  readOnlyHint: (tool) => tool.readOnly,
  destructiveHint: (tool) => tool.destructive,
  idempotentHint: (tool) => tool.idempotent,
  openWorldHint: (tool) => tool.openWorld,
};
const hints = Object.keys(declaredBy) as (keyof typeof hintsTexts)[];

/** The title and annotations of a tool: the declared values and their overrides. */
export function ToolAnnotations({ server, tool }: { server: string; tool: string }) {
  const change = useToolSetting(server);
  const { data } = useQuery(toolSettingsQuery(server));
  const found = data?.find((one) => one.tool === tool);
  if (!found) return null;
  const { annotations, title } = found.settings;
  const setHint = (hint: string, value: string) => {
    const { [hint]: _, ...others } = annotations;
    const next = value === '' ? others : { ...others, [hint]: value === 'true' };
    change.mutate({
      tools: [tool],
      set: { annotations: Object.keys(next).length === 0 ? null : next },
    });
  };
  return (
    <details
      className="border-t px-4 py-3 text-sm md:px-5"
      open={title !== '' || Object.keys(annotations).length > 0}
    >
      <summary className="cursor-pointer">Title and annotations</summary>
      <p className="mt-2 max-w-prose text-ink3">
        These override what the server declares. They apply to clients, approvals, caching and
        retries.
      </p>
      <div className="mt-3 grid max-w-xl grid-cols-[minmax(8rem,1fr)_minmax(0,12rem)] items-center gap-x-4 gap-y-2">
        <span>{words.title}</span>
        <TitleField
          key={title}
          value={title}
          declared={found.title}
          disabled={change.isPending}
          onSave={(text) =>
            change.mutate({ tools: [tool], set: { title: text === '' ? null : text } })
          }
        />
        {hints.map((hint) => (
          <div key={hint} className="contents">
            <span>{hintsTexts[hint]}</span>
            <SelectField
              label={hintsTexts[hint]}
              value={hint in annotations ? String(annotations[hint]) : ''}
              options={[
                { value: '', text: toolingDeclaredText(declaredBy[hint](found)) },
                { value: 'true', text: words.overridden(true) },
                { value: 'false', text: words.overridden(false) },
              ]}
              onChange={(value) => setHint(hint, value)}
            />
          </div>
        ))}
      </div>
    </details>
  );
}

function TitleField({
  value,
  declared,
  disabled,
  onSave,
}: {
  value: string;
  declared: string;
  disabled: boolean;
  onSave: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const save = () => {
    if (text.trim() !== value) onSave(text.trim());
  };
  return (
    <TextField
      labelHidden
      label={words.title}
      value={text}
      placeholder={escapeControlCharacters(declared.slice(0, 200))}
      maxLength={200}
      disabled={disabled}
      onChange={setText}
      onBlur={save}
      onKeyDown={(event) => event.key === 'Enter' && save()}
    />
  );
}
